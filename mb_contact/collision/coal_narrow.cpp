// Copyright 2026 The mb_contact authors
// SPDX-License-Identifier: Apache-2.0

// The narrow phase by coal for machine code: arrays in, normals and signed distances out, without Python.
//
// The same queries in the same order as coal_engine.py, so the answers are the same bits.  Plain C functions: whoever
// has their addresses needs neither headers nor Python.  An object is for one thread at a time.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <coal/distance.h>
#include <coal/shape/convex.h>
#include <coal/shape/geometric_shapes.h>

namespace {

// As SHAPE_* of types.py; planes and height fields never come here.
enum Kind : int64_t { SPHERE, CAPSULE, CYLINDER, BOX, CONE, ELLIPSOID, CONVEX, PLANE, HEIGHT_FIELD };
constexpr int64_t KINDS = 9;

using Doubles = const double*;
using Shape = std::unique_ptr<coal::ShapeBase>;

// coal's query with shapes that are chosen anew each time: its own keeps the first ones.
struct Query : coal::ComputeDistance {
  Query(const coal::ShapeBase* a, const coal::ShapeBase* b) : ComputeDistance(a, b) {}
  void choose(const coal::ShapeBase* a, const coal::ShapeBase* b) const { o1 = a, o2 = b; }
};

struct Geometry {
  int64_t kind, rank;  // rank: order of hulls by their vertices
  double size[3];      // that the shape was made of
  Shape shape;
  coal::Transform3s pose;
};

struct Narrow {
  std::vector<Geometry> geometries;
  std::unique_ptr<Query> queries[KINDS][KINDS];
  coal::DistanceRequest request;
  coal::DistanceResult result;
  std::string failure;
  double unit;  // of length: coal's own tolerances suit shapes of ordinary sizes, so it sees lengths over the unit
};

Shape make_shape(int64_t kind, Doubles size, double unit) {
  const double s[3] = {size[0] / unit, size[1] / unit, size[2] / unit};
  switch (kind) {
    case SPHERE: return Shape(new coal::Sphere(s[0]));
    case CAPSULE: return Shape(new coal::Capsule(s[0], 2.0 * s[1]));
    case BOX: return Shape(new coal::Box(2.0 * s[0], 2.0 * s[1], 2.0 * s[2]));
    case CYLINDER: return Shape(new coal::Cylinder(s[0], 2.0 * s[1]));
    case CONE: return Shape(new coal::Cone(s[0], 2.0 * s[1]));
    case ELLIPSOID: return Shape(new coal::Ellipsoid(s[0], s[1], s[2]));
    default: return nullptr;
  }
}

Shape make_hull(Doubles vertices, int64_t count, const int64_t* triangles, int64_t triangle_count,
                double unit) {
  auto points = std::make_shared<std::vector<coal::Vec3s>>();
  auto faces = std::make_shared<std::vector<coal::Triangle>>();
  for (int64_t i = 0; i < count; ++i)
    points->emplace_back(vertices[3 * i] / unit, vertices[3 * i + 1] / unit, vertices[3 * i + 2] / unit);
  for (int64_t i = 0; i < triangle_count; ++i)
    faces->emplace_back(triangles[3 * i], triangles[3 * i + 1], triangles[3 * i + 2]);
  return Shape(new coal::Convex<coal::Triangle>(points, unsigned(count), faces, unsigned(triangle_count)));
}

// Whether g comes behind h, in an order that does not depend on their numbers.
bool behind(const Geometry& g, const Geometry& h) {
  if (g.kind != h.kind) return g.kind > h.kind;
  for (int k = 0; k < 3; ++k)
    if (g.size[k] != h.size[k]) return g.size[k] > h.size[k];
  return g.rank > h.rank;
}

// Bring a geometry up to date: its pose, and its shape where the size is another one than before.
void place(Geometry& g, Doubles size, Doubles R, Doubles p, double unit) {
  if (std::memcmp(g.size, size, sizeof g.size) != 0) {
    std::memcpy(g.size, size, sizeof g.size);
    if (g.kind != CONVEX) g.shape = make_shape(g.kind, size, unit);
  }
  coal::Matrix3s rotation;
  rotation << R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8];
  g.pose.setRotation(rotation);
  g.pose.setTranslation(coal::Vec3s(p[0] / unit, p[1] / unit, p[2] / unit));
}

void ask(Narrow& n, int64_t i, int64_t j, double reach, Doubles size, Doubles R, Doubles p, double* witness) {
  Geometry &first = n.geometries[i], &second = n.geometries[j];
  if (!first.shape || !second.shape) return;
  place(first, size + 3 * i, R + 9 * i, p + 3 * i, n.unit);
  place(second, size + 3 * j, R + 9 * j, p + 3 * j, n.unit);
  // always in the same order, whichever is called A: coal's iterations depend on it
  const bool swapped = behind(first, second);
  const Geometry &a = swapped ? second : first, &b = swapped ? first : second;
  auto& query = n.queries[a.kind][b.kind];
  if (!query) query.reset(new Query(a.shape.get(), b.shape.get()));
  query->choose(a.shape.get(), b.shape.get());
  n.result.clear();  // coal returns at once if the result already holds a distance below zero
  witness[3] = n.unit * (*query)(a.pose, b.pose, n.request, n.result);
  if (witness[3] > reach) return;
  // coal's normal points from its first shape to its second, ours from B to A
  for (int k = 0; k < 3; ++k) witness[k] = swapped ? n.result.normal[k] : -n.result.normal[k];
}

}  // namespace

#define PUBLIC extern "C" __attribute__((visibility("default")))

PUBLIC const char* mb_coal_version() { return COAL_VERSION; }

// The narrow phase of a world; null where coal refuses a shape.
//
// unit: of length [m]; kinds (g,), sizes (g, 3); of hull i the vertices (., 3) from first_vertex[i] to first_vertex[i + 1],
// and the triangles (., 3) of their numbers likewise.
PUBLIC Narrow* mb_coal_make(int64_t g, const int64_t* kinds, Doubles sizes, const int64_t* first_vertex,
                            Doubles vertices, const int64_t* first_triangle, const int64_t* triangles,
                            double tolerance, double unit) try {
  std::unique_ptr<Narrow> n(new Narrow);
  n->request.enable_signed_distance = true;
  n->request.gjk_tolerance = n->request.epa_tolerance = tolerance;
  n->unit = unit;
  n->geometries.resize(g);
  for (int64_t i = 0; i < g; ++i) {
    Geometry& made = n->geometries[i];
    made.kind = kinds[i];
    std::memcpy(made.size, sizes + 3 * i, sizeof made.size);
    const int64_t v = first_vertex[i], t = first_triangle[i];
    made.shape = kinds[i] == CONVEX
                     ? make_hull(vertices + 3 * v, first_vertex[i + 1] - v, triangles + 3 * t, first_triangle[i + 1] - t,
                                 unit)
                     : make_shape(kinds[i], made.size, unit);
  }
  const auto less = [&](int64_t i, int64_t j) {
    return std::lexicographical_compare(vertices + 3 * first_vertex[i], vertices + 3 * first_vertex[i + 1],
                                        vertices + 3 * first_vertex[j], vertices + 3 * first_vertex[j + 1]);
  };
  std::vector<int64_t> order(g);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), less);
  int64_t rank = 0;
  for (int64_t i = 0; i < g; ++i) {
    if (i > 0 && less(order[i - 1], order[i])) ++rank;
    n->geometries[order[i]].rank = rank;
  }
  return n.release();
} catch (...) {
  return nullptr;
}

PUBLIC void mb_coal_drop(Narrow* n) { delete n; }

// What the last query that returned 1 has thrown.
PUBLIC const char* mb_coal_failure(const Narrow* n) { return n->failure.c_str(); }

// Witness rows (., 4) of the first `count` rows of pairs: unit normal from B to A, and signed distance [m].
//
// pairs (m, 2), sizes (g, 3), R (g, 3, 3), p (g, 3); farther than its reach only the distance is written.  Returns 0, or 1 where
// coal has thrown an exception.
PUBLIC int64_t mb_coal_query(Narrow* n, int64_t count, const int64_t* rows, Doubles reach, const int64_t* pairs,
                             Doubles sizes, Doubles R, Doubles p, double* witness) try {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t* pair = pairs + 2 * rows[i];
    ask(*n, pair[0], pair[1], reach[i], sizes, R, p, witness + 4 * i);
  }
  return 0;
} catch (const std::exception& error) {
  n->failure = error.what();
  return 1;
} catch (...) {
  n->failure = "an exception";
  return 1;
}
