// Copyright 2026 The mb_contact authors
// SPDX-License-Identifier: Apache-2.0

// Pinocchio inside a compiled loop: reads a robot, its constraints and some states from a text file
// (benchmarks/peer.py writes it), then answers commands on standard input:
//
//   value NAME S     the result of algorithm NAME at state S, row by row
//   time NAME R      seconds for R calls of NAME, cycling through the states
//   quit
//
// The algorithms are Pinocchio's templates, compiled here with the machine's own instruction set; no
// library of Pinocchio is linked.

#define PINOCCHIO_DISABLE_UNSUPPORTED_WARNINGS

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "pinocchio/multibody.hpp"
#include "pinocchio/multibody/joint.hpp"
#include "pinocchio/algorithm/aba.hpp"
#include "pinocchio/algorithm/contact-dynamics.hpp"
#include "pinocchio/algorithm/crba.hpp"
#include "pinocchio/algorithm/delassus.hpp"
#include "pinocchio/algorithm/rnea.hpp"

namespace pin = pinocchio;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

static const double MU = 1e-4;  // damping of the inverse; Pinocchio's own hint for redundant constraints

static Eigen::Vector3d vector3(std::istream & in)
{
  Eigen::Vector3d x;
  in >> x[0] >> x[1] >> x[2];
  return x;
}

static Eigen::Matrix3d matrix3(std::istream & in)
{
  Eigen::Matrix3d A;
  for (int i = 0; i < 9; ++i)
    in >> A(i / 3, i % 3);
  return A;
}

static pin::SE3 placement(std::istream & in)
{
  const Eigen::Matrix3d R = matrix3(in);
  return pin::SE3(R, vector3(in));
}

// Aligned axes get Pinocchio's specialised joints, as its own URDF reader chooses them.
static pin::JointModel joint_model(const std::string & name, const Eigen::Vector3d & axis)
{
  static const std::map<std::string, pin::JointModel> fixed = {
    {"JointModelRX", pin::JointModelRX()},     {"JointModelRY", pin::JointModelRY()},
    {"JointModelRZ", pin::JointModelRZ()},     {"JointModelPX", pin::JointModelPX()},
    {"JointModelPY", pin::JointModelPY()},     {"JointModelPZ", pin::JointModelPZ()},
    {"JointModelRUBX", pin::JointModelRUBX()}, {"JointModelRUBY", pin::JointModelRUBY()},
    {"JointModelRUBZ", pin::JointModelRUBZ()}, {"JointModelFreeFlyer", pin::JointModelFreeFlyer()},
  };
  const auto found = fixed.find(name);
  if (found != fixed.end())
    return found->second;
  if (name == "JointModelRevoluteUnaligned")
    return pin::JointModelRevoluteUnaligned(axis);
  if (name == "JointModelRevoluteUnboundedUnaligned")
    return pin::JointModelRevoluteUnboundedUnaligned(axis);
  if (name == "JointModelPrismaticUnaligned")
    return pin::JointModelPrismaticUnaligned(axis);
  throw std::runtime_error("no joint " + name);
}

struct Case
{
  pin::Model model;
  pin::Data data;
  PINOCCHIO_STD_VECTOR_WITH_EIGEN_ALLOCATOR(pin::RigidConstraintModel) constraints;
  PINOCCHIO_STD_VECTOR_WITH_EIGEN_ALLOCATOR(pin::RigidConstraintData) constraint_data;
  PINOCCHIO_STD_VECTOR_WITH_EIGEN_ALLOCATOR(pin::RigidConstraintData) pv_constraint_data;
  pin::Data pv_data;
  std::vector<VectorXd> q, v, effort, acceleration;
  MatrixXd delassus, out;

  void read(std::istream & in);
  MatrixXd symmetric() const;
};

void Case::read(std::istream & in)
{
  std::string word;
  int joints, count, states;
  in >> word;
  model.gravity.linear() = vector3(in);
  in >> word >> joints;
  for (int i = 0; i < joints; ++i)
  {
    std::string kind;
    int parent;
    in >> kind >> parent;
    const Eigen::Vector3d axis = vector3(in);
    const pin::SE3 at = placement(in);
    double mass;
    in >> mass;
    const Eigen::Vector3d lever = vector3(in);
    const Eigen::Matrix3d inertia = matrix3(in);
    const auto id = model.addJoint(parent, joint_model(kind, axis), at, "joint_" + std::to_string(i));
    model.appendBodyToJoint(id, pin::Inertia(mass, lever, inertia), pin::SE3::Identity());
  }
  in >> word >> count;
  Index rows = 0;
  for (int i = 0; i < count; ++i)
  {
    int joint, size;
    in >> joint >> size;
    const auto type = size == 6 ? pin::CONTACT_6D : pin::CONTACT_3D;
    constraints.emplace_back(type, model, joint, placement(in), pin::LOCAL);
    rows += size;
  }
  in >> word >> states;
  for (int s = 0; s < states; ++s)
  {
    for (auto * list : {&q, &v, &effort, &acceleration})
    {
      list->emplace_back(list == &q ? model.nq : model.nv);
      for (Index i = 0; i < list->back().size(); ++i)
        in >> list->back()[i];
    }
  }
  in >> word;
  if (!in || word != "end")
    throw std::runtime_error("the file is not complete");
  data = pin::Data(model);
  pv_data = pin::Data(model);
  for (const auto & constraint : constraints)
  {
    constraint_data.emplace_back(constraint);
    pv_constraint_data.emplace_back(constraint);
  }
  pin::initPvDelassus(model, pv_data, constraints);
  delassus = MatrixXd::Zero(rows, rows);
}

// Pinocchio fills upper triangles only.
static MatrixXd mirrored(const MatrixXd & A)
{
  MatrixXd B = A.triangularView<Eigen::Upper>();
  B.triangularView<Eigen::StrictlyLower>() = B.transpose();
  return B;
}

int main(int argc, char ** argv)
{
  if (argc != 2)
  {
    std::fprintf(stderr, "usage: %s CASE.txt\n", argv[0]);
    return 2;
  }
  Case c;
  std::ifstream file(argv[1]);
  c.read(file);
  const auto LOCAL = pin::Convention::LOCAL;
  const auto WORLD = pin::Convention::WORLD;
  auto & m = c.model;
  auto & d = c.data;
  const std::map<std::string, std::function<void(size_t)>> run = {
    {"aba", [&](size_t s) { pin::aba(m, d, c.q[s], c.v[s], c.effort[s], WORLD); }},
    {"aba_local", [&](size_t s) { pin::aba(m, d, c.q[s], c.v[s], c.effort[s], LOCAL); }},
    {"crba", [&](size_t s) { pin::crba(m, d, c.q[s], WORLD); }},
    {"crba_local", [&](size_t s) { pin::crba(m, d, c.q[s], LOCAL); }},
    {"rnea", [&](size_t s) { pin::rnea(m, d, c.q[s], c.v[s], c.acceleration[s]); }},
    {"osim", [&](size_t s) {
       pin::computeDelassusMatrix(m, d, c.q[s], c.constraints, c.constraint_data, c.delassus, 0.0);
     }},
    {"pv", [&](size_t s) {
       pin::computePvDelassusMatrix(
         m, c.pv_data, c.q[s], c.constraints, c.pv_constraint_data, c.delassus, 0.0);
     }},
    {"inverse", [&](size_t s) {
       pin::computeDampedDelassusMatrixInverse(
         m, c.pv_data, c.q[s], c.constraints, c.pv_constraint_data, c.delassus, MU);
     }},
    {"inverse_efpa", [&](size_t s) {
       pin::computeDampedDelassusMatrixInverse(
         m, d, c.q[s], c.constraints, c.constraint_data, c.delassus, MU, false, false);
     }},
  };
  std::string command, name;
  long count;
  while (std::cin >> command >> name >> count)
  {
    const auto & algorithm = run.at(name);
    if (command == "value")
    {
      algorithm(count);
      if (name.compare(0, 3, "aba") == 0)
        c.out = d.ddq;
      else if (name.compare(0, 4, "crba") == 0)
        c.out = mirrored(d.M);
      else if (name == "rnea")
        c.out = d.tau;
      else
        c.out = mirrored(c.delassus);
      for (Index i = 0; i < c.out.rows(); ++i)
        for (Index j = 0; j < c.out.cols(); ++j)
          std::printf("%.17g ", c.out(i, j));
      std::printf("\n");
    }
    else
    {
      const size_t states = c.q.size();
      const auto start = std::chrono::steady_clock::now();
      for (long r = 0; r < count; ++r)
        algorithm(r % states);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      std::printf("%.9g\n", taken.count());
    }
    std::fflush(stdout);
  }
  return 0;
}
