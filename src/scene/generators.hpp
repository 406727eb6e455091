// Procedural strands: grooms, knots, helices and bundles. A generator is a pure function of its options; randomness
// comes from a counter-based hash of (seed, strand), so the same options give the same strands everywhere.
#pragma once

#include <cstdint>

#include "stiction/scene.hpp"

namespace stiction::scene {

/// splitmix64 (Steele, Lea and Flood 2014), one stream for each (seed, stream) pair.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream);
  std::uint64_t next();
  double uniform();                  ///< in [0, 1)
  double symmetric();                ///< in [-1, 1)
  int integer(int first, int last);  ///< in [first, last]

 private:
  std::uint64_t state_;
};

enum class GroomStyle {
  straight,  // along the normal
  wavy,      // a plane wave
  curly,     // a helix
  frizzy     // smooth noise
};
enum class GroomDomain { sphere, hemisphere, patch };

struct GroomOptions {
  GroomDomain domain = GroomDomain::hemisphere;
  double domain_radius = 0.09;              ///< of the sphere or hemisphere, m
  Eigen::Vector2d patch_size = {0.1, 0.1};  ///< of the patch, centred in local z = 0, m
  int strands = 500;
  int elements = 30;           ///< edges a strand
  int elements_jitter = 0;     ///< edges more or fewer, at most
  double length = 0.17;        ///< along the strand, m
  double length_jitter = 0.0;  ///< fraction of the length
  double root_jitter = 0.1;    ///< fraction of the distance between neighbouring roots
  GroomStyle style = GroomStyle::curly;
  double curl_radius = 0.002;     ///< m
  double curl_rate = 220.0;       ///< phase over length, rad/m
  double frizz = 0.0005;          ///< amplitude of the noise on a wave or curl, m
  double radius = Rods{}.radius;  ///< of the strands, m
  double radius_jitter = 0.0;     ///< fraction of the radius
  int seed = 1;
};

/// Strands that leave the domain along its normal: node 0 lies on the surface plus the strand's radius, the first edge
/// is straight, and the curl grows smoothly from nothing. All edges of a strand are equally long. Where strands would
/// start in touch, their random phases are drawn again a few times (in grooms of up to three million elements).
std::vector<Strand> make_groom(const GroomOptions& options);

/// Where a strand leaves a surface.
struct GroomRoot {
  Vec3 surface;    ///< a point of the surface, m
  Vec3 normal;     ///< outward; node 0 lies a radius along it
  Vec3 direction;  ///< of the first edge
};

/// make_groom from given roots, whatever the domain and the number of strands in `options`. A strand that would pierce
/// `body` is drawn again, and shortened where that does not help.
std::vector<Strand> make_groom(const GroomOptions& options, const std::vector<GroomRoot>& roots,
                               const TriangleMesh* body = nullptr);

/// The roots that make_groom spreads over the domain of `options`.
std::vector<GroomRoot> make_roots(const GroomOptions& options);

/// The root's direction, turned from the normal towards `direction` by a share of `lean`, but by no more than 80
/// degrees.
Vec3 leaning(const GroomRoot& root, double lean, const Vec3& direction);

struct BundleOptions {
  int count = 100;
  int nodes = 31;
  double length = 0.25;             ///< m
  double radius = Chains{}.radius;  ///< of the strands, m
  double spacing = 0;               ///< between centrelines; 0: 2.5 radii, m
  double jitter = 0.5;              ///< fraction of the free gap between neighbours, below 1 they never touch
  int columns = 0;                  ///< strands in a layer; 0: about the square root of the count
  double height = 0.05;             ///< of the lowest layer, m
  int seed = 1;
};

/// A hexagonal stack of strands parallel to x, centred over the origin, layers growing along z.
std::vector<Strand> make_bundle(const BundleOptions& options);

/// Equally long edges from `from` to `to`.
std::vector<Vec3> make_straight(const Vec3& from, const Vec3& to, int elements);

/// A circular arc in the local xy plane about the origin, from (radius, 0, 0) through `angle`, rad. 2π: a closed ring.
std::vector<Vec3> make_arc(double radius, double angle, int elements);

/// A helix about the local z axis, rising from z = 0 by `pitch` a turn.
std::vector<Vec3> make_helix(double radius, double pitch, double turns, int elements);

/// An open trefoil of outer radius `size` in a rod of `length`: straight tails on the x axis, the knot above the origin
/// (y > 0). Needs length >= trefoil_min_length(size); strands of the knot keep at least trefoil_clearance(size) apart.
std::vector<Vec3> make_trefoil(double size, double length, int elements);
double trefoil_min_length(double size);  ///< m
double trefoil_clearance(double size);   ///< smallest distance between centrelines at a crossing, m

/// A straight centreline with the same edge lengths, leaving the first node along the first edge.
std::vector<Vec3> straightened(const std::vector<Vec3>& nodes);

/// Walks along the polyline `curve` and places `elements` + 1 nodes, each at distance `edge` from the one before; a
/// curve that ends early is continued along its last edge.
std::vector<Vec3> resample(const std::vector<Vec3>& curve, double edge, int elements);

}  // namespace stiction::scene
