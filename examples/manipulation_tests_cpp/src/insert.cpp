// Copyright 2026 The mb_contact authors
// SPDX-License-Identifier: Apache-2.0

// A peg is let down into a hole: a spring pulls it along a ramp, with a force that is bounded.
//
//   mb-contact test --expect peg.yaml --controller "ros2 run manipulation_tests_cpp insert"

#include <algorithm>
#include <cmath>
#include <memory>

#include "rclcpp/rclcpp.hpp"
#include "sensor_msgs/msg/joint_state.hpp"

using sensor_msgs::msg::JointState;

namespace
{
constexpr double kSpeed = 0.06, kDepth = 0.09;           // of the ramp [m/s], [m]
constexpr double kStiffness = 800.0, kDamping = 40.0;    // [N/m], [N s/m]
constexpr double kPush = 25.0, kWeight = 7.848;          // greatest force, and what the peg weighs [N]
}  // namespace

class Insert : public rclcpp::Node
{
public:
  Insert()
  : Node("insert")
  {
    commands_ = create_publisher<JointState>("joint_commands", rclcpp::QoS(10).reliable());
    states_ = create_subscription<JointState>(
      "joint_states", rclcpp::QoS(10).reliable(), [this](const JointState & state) {answer(state);});
  }

private:
  void answer(const JointState & state)
  {
    const auto found = std::find(state.name.begin(), state.name.end(), "z_joint");
    if (found == state.name.end()) {
      return;
    }
    const auto row = static_cast<std::size_t>(found - state.name.begin());
    const double time = state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec;
    const double target = -std::min(kSpeed * time, kDepth);
    const double pull = kStiffness * (target - state.position[row]) - kDamping * state.velocity[row];
    JointState command;
    command.header = state.header;  // says which state this answers
    command.name = {"x_joint", "y_joint", "z_joint"};
    command.effort = {0.0, 0.0, std::clamp(pull, -kPush, kPush) + kWeight};
    commands_->publish(command);
  }

  rclcpp::Publisher<JointState>::SharedPtr commands_;
  rclcpp::Subscription<JointState>::SharedPtr states_;
};

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  rclcpp::spin(std::make_shared<Insert>());
  rclcpp::shutdown();
  return 0;
}
