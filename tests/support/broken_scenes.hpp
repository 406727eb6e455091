// Scenes with one mistake each, by hand and by mutation of every field in the schema, and what is to be said about
// them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "scene/schema.hpp"

namespace stiction::test {

struct BrokenScene {
  std::string text;
  int line;                            ///< that the message points at
  std::vector<std::string> fragments;  ///< of the message
};

inline const std::vector<BrokenScene> broken_by_hand = {
    // TOML itself
    {"name = ", 1, {"TOML syntax"}},
    {"name = \"a\"\nname = \"b\"\n[[rod]]", 2, {"TOML syntax", "name"}},
    {"[time\nfps = 3", 1, {"TOML syntax"}},
    {"[time]\nfps == 3", 2, {"TOML syntax"}},
    {"[time]\nfps = 3 4", 2, {"TOML syntax"}},
    {"[time]\n[time]", 2, {"TOML syntax", "time"}},
    {"[[rod]]\nfrom = [0, 0, 0", 2, {"TOML syntax"}},
    {"[[rod]]\nname = \"unclosed\nradius = 1", 2, {"TOML syntax"}},
    {"[[rod]]\n\x01", 2, {"TOML syntax"}},
    {"[[rod]]\n[\x1brod]", 2, {"TOML syntax"}},
    {"[[rod]]\nradius = 0.1\n[\nfps = 3]\n\n\n", 3, {"TOML syntax", "key in a table header"}},
    {"[[rod]]\nnodes = [[0, 0, 0], [\n1, }]", 3, {"TOML syntax", "'}' closes '['"}},
    {"[[rod]]\nradius = 0.1\n[[ = ]]", 3, {"TOML syntax", "key in a table header"}},
    {"# \xc3\xa4\n[[rod]]\nl\xc3\xa4nge = 1", 3, {"TOML syntax", "non-ASCII"}},
    {"# \xc3\xa4\nname = '\xc3\xa4'", 2, {"TOML syntax", "non-ASCII"}},
    {"[[rod]]\nname = \"\xff\xfe\"", 2, {"TOML syntax"}},
    // Unknown sections and keys
    {"[[grom]]\nstrands = 3", 1, {"grom: unknown key", "did you mean 'groom'?"}},
    {"gravity = 3\n[[rod]]", 1, {"gravity: unknown key"}},
    {"[[rod]]\nradios = 0.1", 2, {"rod.0.radios: unknown key", "did you mean 'radius'?"}},
    {"[[rod]]\n[[rod]]\n\nyoungs = 3", 4, {"rod.1.youngs: unknown key", "known: shape"}},
    {"[[rod]]\nforces = [{nod = 3}]", 2, {"rod.0.forces.0.nod: unknown key", "did you mean 'node'?"}},
    {"[[chain]]\npoisson = 0.3", 2, {"chain.0.poisson: unknown key"}},
    {"[[chain]]\nroot = \"clamped\"", 2, {"chain.0.root", "'clamped' is not one of \"free\", \"pinned\""}},
    // Types
    {"time = 3\n[[rod]]", 1, {"time: expected a table, got 3"}},
    {"rod = 3", 1, {"rod: expected a list of tables"}},
    {"rod = [3]", 1, {"rod.0: expected a table, got 3"}},
    {"[rod]\nradius = 0.1", 1, {"rod: expected a list of tables ([[rod]])"}},
    {"[[time]]\nfps = 3", 1, {"time: expected a table"}},
    {"[time]\nsteps_per_frame = 2.5\n[[rod]]", 2, {"time.steps_per_frame: expected an integer, got 2.5"}},
    {"[solver]\naccelerated = 1\n[[rod]]", 2, {"solver.accelerated: expected true or false, got 1"}},
    {"[world]\ngravity = -9.81\n[[rod]]", 2, {"world.gravity: expected a list of 3 numbers"}},
    {"[world]\ngravity = [0, -9.81]\n[[rod]]", 2, {"world.gravity", "got a list of 2"}},
    {"[world]\ngravity = [0, 0, \"down\"]\n[[rod]]", 2, {"world.gravity: expected a number, got 'down'"}},
    {"name = 1979-05-27\n[[rod]]", 1, {"name: expected a string, got 1979-05-27"}},
    // Numbers out of their bounds
    {"[time]\nfps = 0\n[[rod]]", 2, {"time.fps: is 0, must be > 0 1/s"}},
    {"[time]\nduration = nan\n[[rod]]", 2, {"time.duration: nan is not a finite number"}},
    {"[time]\nduration = -inf\n[[rod]]", 2, {"time.duration: -inf is not a finite number"}},
    {"[time]\nduration = 1e5\nfps = 1e5\n[[rod]]", 2, {"time.duration", "steps"}},
    {"[time]\nsteps_per_frame = 9223372036854775807\n[[rod]]", 2, {"time.steps_per_frame", "must be <= 10000"}},
    {"[solver]\nstages = 65\n[[rod]]", 2, {"solver.stages: is 65, must be <= 64"}},
    {"[contact]\nrestitution = 1.5\n[[rod]]", 2, {"contact.restitution: is 1.5, must be <= 1"}},
    {"[[rod]]\npoisson = 0.6", 2, {"rod.0.poisson: is 0.6, must be <= 0.5"}},
    {"[[rod]]\nradius = -1e-3", 2, {"rod.0.radius: is -0.001, must be >= 1e-08 m"}},
    {"[[groom]]\nstrands = 0", 2, {"groom.0.strands: is 0, must be >= 1"}},
    // Words that are none of the choices
    {"[solver]\nfinal_velocity = \"q\"\n[[rod]]", 2, {"solver.final_velocity: 'q' is not one of \"p\", \"v\""}},
    {"[solver]\nprecision = \"doubel\"\n[[rod]]", 2, {"solver.precision", "did you mean 'double'?"}},
    {"[[rod]]\nshape = \"knot\"", 2, {"rod.0.shape: 'knot'", "trefoil"}},
    {"[[collider]]\nshape = \"shpere\"\n[[rod]]", 2, {"collider.0.shape", "did you mean 'sphere'?"}},
    // Keys that would have no effect
    {"[[collider]]\nshape = \"box\"\nradius = 1\n[[rod]]",
     3,
     {"collider.0.radius: has no effect where shape = \"box\""}},
    {"[[collider]]\nfile = \"a.obj\"\n[[rod]]", 2, {"collider.0.file: has no effect where shape = \"sphere\""}},
    {"[[rod]]\nturns = 3", 2, {"rod.0.turns: has no effect", "\"helix\""}},
    {"[[bundle]]\ntwist = \"dynamic\"", 2, {"bundle.0.twist: has no effect where model = \"chain\""}},
    {"[[groom]]\nstyle = \"straight\"\nfrizz = 1e-3", 3, {"groom.0.frizz: has no effect"}},
    {"[[rod]]\nnodes = [[0,0,0],[1,0,0],[2,0,0]]\nelements = 3", 3, {"rod.0.elements: has no effect where nodes"}},
    // Options that need each other
    {"[world]\ngust_speed = 1\n[[rod]]", 2, {"world.gust_speed: is 1 m/s, but needs a wind"}},
    {"[contact]\ncohesion = 1\n[[rod]]", 2, {"contact.cohesion", "cohesion_distance"}},
    {"[render]\neye = [0, 0, 0]\n[[rod]]", 2, {"render.eye", "coincide"}},
    // Names and references
    {"[[rod]]\nname = \"a\"\n[[rod]]\nname = \"a\"", 4, {"rod.1.name: 'a' is the name of another body"}},
    {"[[collider]]\nname = \"rod0\"\n[[rod]]", 3, {"rod.0.name: 'rod0'"}},
    {"[[rod]]\nname = \"\"", 2, {"rod.0.name: is empty"}},
    {"[[collider]]\nname = \"ball\"\n[[groom]]\non = \"bal\"",
     4,
     {"groom.0.on: there is no collider 'bal'", "'ball'?"}},
    {"[[rod]]\nroot_attach = \"hand\"", 2, {"rod.0.root_attach: there is no collider 'hand'"}},
    {"[[collider]]\nname = \"h\"\n[[rod]]\ntip_attach = \"h\"",
     4,
     {"rod.0.tip_attach: 'h' holds nothing, tip is free"}},
    {"[[collider]]\nname = \"h\"\n[[groom]]\non = \"h\"\nroot_attach = \"h\"", 5, {"groom.0.root_attach"}},
    {"[[rod]]\n[[friction]]\na = \"rod0\"\nb = \"floor\"\nfriction = 1", 4, {"friction.0.b: there is no body 'floor'"}},
    {"[[rod]]\n[[friction]]\na = \"rod0\"\nb = \"rod0\"", 2, {"friction.0.friction: missing"}},
    {"[[rod]]\n[[friction]]\nb = \"rod0\"\nfriction = 1", 2, {"friction.0.a: missing"}},
    {"[[rod]]\n[[friction]]\na=\"rod0\"\nb=\"rod0\"\nfriction=1\n[[friction]]\na=\"rod0\"\nb=\"rod0\"\nfriction=1",
     6,
     {"friction.1: the pair", "twice"}},
    // Bodies
    {"name = \"empty\"", 1, {"the scene has no body"}},
    {"", 1, {"the scene has no body"}},
    {"[[rod]]\nfrom = [1, 0, 0]\nto = [1, 0, 0]", 3, {"rod.0.to: nodes 0 and 1 coincide"}},
    {"[[rod]]\nnodes = []", 2, {"rod.0.nodes: a strand has 0 nodes, must have >= 3"}},
    {"[[rod]]\nnodes = [[0, 0, 0], [1, 0, 0]]", 2, {"rod.0.nodes: a strand has 2 nodes, must have >= 3 where clamped"}},
    {"[[rod]]\nelements = 1", 2, {"rod.0.elements: a strand has 2 nodes"}},
    {"[[rod]]\ntip = \"clamped\"\nelements = 2", 3, {"rod.0.elements: a strand has 3 nodes, must have >= 4"}},
    {"[[chain]]\nnodes = [[0, 0, 0]]", 2, {"chain.0.nodes: a strand has 1 nodes, must have >= 2"}},
    {"[[rod]]\nnodes = [[0,0,0], [1,0,0],\n[1,0,0]]", 2, {"rod.0.nodes: nodes 1 and 2 coincide"}},
    {"[[rod]]\nnodes = [[0,0,0], [1,0,0], [0.5,0,0]]", 2, {"rod.0.nodes: the strand folds back on itself at node 1"}},
    {"[[rod]]\nnodes = [[0,0,0],\n[1,0,nan], [2,0,0]]", 3, {"rod.0.nodes: nan"}},
    {"[[rod]]\nnodes = [[0,0,0],\n[1,0], [2,0,0]]", 3, {"rod.0.nodes: expected a list of 3 numbers"}},
    {"[[rod]]\nshape = \"ring\"\nelements = 2", 2, {"rod.0.shape: the strand folds back"}},
    {"[[rod]]\nshape = \"helix\"\nradius = 0.01\npitch = 0.01", 4, {"rod.0.pitch: is 0.01 m, must be > 2 radius"}},
    {"[[rod]]\nshape = \"trefoil\"\nsize = 0.1\nlength = 0.2", 4, {"rod.0.length: is 0.2 m, must be >="}},
    {"[[rod]]\nshape = \"trefoil\"\nsize = 0.01\nradius = 0.005", 3, {"rod.0.size: is 0.01 m, must be >"}},
    {"[[bundle]]\nradius = 0.01\nspacing = 0.015", 3, {"bundle.0.spacing: is 0.015 m, must be >= 2 radius = 0.02 m"}},
    {"[[bundle]]\nroot = \"clamped\"", 2, {"bundle.0.root: a chain cannot be clamped"}},
    {"[[groom]]\nelements = 4\nelements_jitter = 3", 3, {"groom.0.elements_jitter: is 3, must be <= elements - 2"}},
    {"[[collider]]\nname = \"b\"\n[[groom]]\non = \"b\"\ndomain = \"patch\"", 5, {"groom.0.domain: does not lie on"}},
    {"[[collider]]\nname = \"b\"\n[[groom]]\non = \"b\"\ndomain = \"sphere\"\ndomain_radius = 1",
     6,
     {"groom.0.domain_radius: is that of 'b'"}},
    // Absurd sizes
    {"[[groom]]\nstrands = 10000000\nelements = 100000", 2, {"groom.0.strands: brings the scene to", "<= 50000000"}},
    {"[[bundle]]\nnodes = 100000\ncount = 10000000", 3, {"bundle.0.count: brings the scene to 1000000000000 nodes"}},
    {"[[groom]]\nstrands = 1500000\n[[rod]]\nelements = 9000000", 4, {"rod.0.elements: brings the scene to"}},
    // Forces and masses
    {"[[rod]]\nforces = [{force = [0, 0, 1], strand = 1}]", 2, {"rod.0.forces.0.strand: is 1, must be < 1"}},
    {"[[rod]]\nforces = [{force = [0, 0, 1], node = 31}]", 2, {"rod.0.forces.0.node: is 31, must be >= -31, < 31"}},
    {"[[rod]]\nforces = [{node = 3}]", 2, {"rod.0.forces.0: needs either force or keys"}},
    {"[[rod]]\nforces = [\n{force = [0,0,0]},\n{force = [0,0,0], keys = [[0,0,0,0]]}]", 4, {"rod.0.forces.1: needs"}},
    {"[[rod]]\nforces = [{keys = [[0,0,0,0], [0,0,0,0]]}]", 2, {"rod.0.forces.0.keys: times must increase: 0 s"}},
    {"[[rod]]\npoint_masses = [{node = -32, mass = 1}]", 2, {"rod.0.point_masses.0.node: is -32"}},
    {"[[rod]]\npoint_masses = [{node = 1}]", 2, {"rod.0.point_masses.0.mass: missing"}},
    {"[[rod]]\npoint_masses = [{node = 1, mass = 0}]", 2, {"rod.0.point_masses.0.mass: is 0, must be > 0 kg"}},
    // Shells
    {"[[shell]]\nshape = \"shet\"", 2, {"shell.0.shape: 'shet'", "did you mean 'sheet'?"}},
    {"[[shell]]\nradius = 1", 2, {"shell.0.radius: has no effect where shape = \"sheet\""}},
    {"[[shell]]\nfile = \"a.obj\"", 2, {"shell.0.file: has no effect"}},
    {"[[shell]]\nshape = \"file\"", 1, {"shell.0.file: names no file"}},
    {"[[shell]]\nshape = \"file\"\nfile = \"no.obj\"", 3, {"shell.0.file: ", "no.obj"}},
    {"[[shell]]\nnx = 3", 2, {"shell.0.nx: needs the other of nx and ny"}},
    {"[[shell]]\nnx = 3\nny = 3\nvertices = 100", 4, {"shell.0.vertices: has no effect where nx and ny"}},
    {"[[shell]]\nshape = \"band\"\nnx = 2\nny = 2", 3, {"shell.0.nx: is 2, must be >= 3"}},
    {"[[shell]]\nshape = \"shirt\"\nvertices = 10", 3, {"shell.0.vertices: is 10, must be >= 200"}},
    {"[[shell]]\nwarp = [0, 0, 0]", 2, {"shell.0.warp: has no length"}},
    {"[[shell]]\nwarp = [0, 0, 1]\nweft_modulus = 1e4", 2, {"shell.0.warp: is normal to the sheet"}},
    {"[[shell]]\nname = \"\"", 2, {"shell.0.name: is empty"}},
    {"[[shell]]\n[[shell]]\nname = \"shell0\"", 3, {"shell.1.name: 'shell0' is the name of another body"}},
    {"[[shell]]\nvertices = 10000000\n[[shell]]\nnx = 10000\nny = 10000", 4, {"shell.1.nx: brings the scene to"}},
    {"[[shell]]\nnx = 10000000\nny = 10000000", 2, {"shell.0.nx: brings the scene to"}},
    {"[[shell]]\npins = [{}]", 2, {"shell.0.pins.0: needs one of box_min and box_max, corners, vertices"}},
    {"[[shell]]\npins = [{corners = true, vertices = [1]}]", 2, {"shell.0.pins.0: needs one of"}},
    {"[[shell]]\npins = [{corners = false}]", 2, {"shell.0.pins.0: needs one of"}},
    {"[[shell]]\npins = [{vertices = [992]}]", 2, {"shell.0.pins.0.vertices: is 992, must be >= -992, < 992"}},
    {"[[shell]]\npins = [{vertices = []}]", 2, {"shell.0.pins.0: selects no vertices"}},
    {"[[shell]]\npins = [{box_min = [5, 5, 5]}]", 2, {"shell.0.pins.0: selects no vertices"}},
    {"[[shell]]\npins = [{box_min = [1, 0, 0], box_max = [0, 1, 1]}]", 2, {"shell.0.pins.0: box_max must be >= "}},
    {"[[shell]]\npins = [{corners = true, attach = \"hand\"}]", 2, {"shell.0.pins.0.attach: there is no collider"}},
    {"[[shell]]\nshape = \"band\"\npins = [{corners = true}]", 3, {"shell.0.pins.0.corners: only a sheet or a box"}},
    {"[[collider]]\nname = \"h\"\n[[shell]]\npins = [{vertices = [3]},\n{vertices = [3], attach = \"h\"}]",
     5,
     {"shell.0.pins.1: vertices 3 is held by pins.0 already"}},
    {"[[shell]]\nforces = [{force = [0, 0, 1]}]", 2, {"shell.0.forces.0.vertex: missing"}},
    {"[[shell]]\nforces = [{vertex = 0}]", 2, {"shell.0.forces.0: needs either force or keys"}},
    {"[[shell]]\nforces = [{vertex = 5000, force = [0, 0, 1]}]", 2, {"shell.0.forces.0.vertex: is 5000"}},
    // Solids
    {"[[solid]]\nshape = \"bunny\"", 2, {"solid.0.shape: 'bunny' is not one of", "rabbit"}},
    {"[[solid]]\nmaterial = \"neohookean\"", 2, {"solid.0.material", "did you mean 'neo_hookean'?"}},
    {"[[solid]]\npoisson = 0.5", 2, {"solid.0.poisson: is 0.5, must be <= 0.499"}},
    {"[[solid]]\nembedded = true", 2, {"solid.0.embedded: has no effect where shape = \"box\""}},
    {"[[solid]]\nfaces = 100", 2, {"solid.0.faces: has no effect where shape = \"box\""}},
    {"[[solid]]\ncells = [2, 0, 2]", 2, {"solid.0.cells: must be all 0 or all > 0"}},
    {"[[solid]]\ncells = [2, 2, 2]\ntets = 10", 3, {"solid.0.tets: has no effect where cells are given"}},
    {"[[solid]]\nshape = \"rabbit\"\nfaces = 20", 3, {"solid.0.faces: is 20, must be >= 100"}},
    {"[[solid]]\nshape = \"file\"\nfile = \"no.msh\"", 3, {"solid.0.file: ", "no.msh"}},
    {"[[solid]]\nshape = \"file\"\nfile = \"no.txt\"", 3, {"solid.0.file: ", "no.txt"}},
    {"[[solid]]\nshape = \"surface\"", 1, {"solid.0.file: names no file"}},
    {"[[solid]]\nspacing = 1", 2, {"solid.0.spacing: has no effect without copies"}},
    {"[[solid]]\nturn_seed = 1", 2, {"solid.0.turn_seed: has no effect without copies"}},
    {"[[solid]]\ncopies = [1000, 1000, 1000]", 2, {"solid.0.copies: brings the scene to"}},
    {"[[solid]]\nname = \"\"\ncopies = [2, 1, 1]", 2, {"solid.0.name: is empty"}},
    {"[[collider]]\nname = \"s.1\"\n[[solid]]\nname = \"s\"\ncopies = [2, 1, 1]", 4, {"'s.1' is the name of another"}},
    {"[[solid]]\ncopies = [2, 1, 1]\npins = [{vertices = [0]}, {vertices = [100000]}]", 3, {"is 100000, must be"}},
    {"[[solid]]\npins = [{box_max = [-9, -9, -9]}]", 2, {"solid.0.pins.0: selects no vertices"}},
    {"[[solid]]\nshape = \"sphere\"\npins = [{corners = true}]", 3, {"solid.0.pins.0.corners: only a sheet or a box"}},
    {"[[solid]]\nforces = [{vertex = -10000, force = [0, 0, 1]}]", 2, {"solid.0.forces.0.vertex: is -10000"}},
    // Frames
    {"[[frames]]\nshape = \"rod\"", 2, {"frames.0.shape: 'rod' is not one of"}},
    {"[[frames]]\nshape = \"beam\"\nmesh = \"box\"", 3, {"frames.0.mesh: has no effect where shape = \"beam\""}},
    {"[[frames]]\nradius = 1", 2, {"frames.0.radius: has no effect where mesh = \"box\""}},
    {"[[frames]]\nmesh = \"sphere\"\nsize = [1, 1, 1]", 3, {"frames.0.size: has no effect where mesh = \"sphere\""}},
    {"[[frames]]\nmesh = \"file\"", 1, {"frames.0.file: names no file"}},
    {"[[frames]]\ncount = 3", 2, {"frames.0.count: has no effect where shape = \"rigid\""}},
    {"[[frames]]\nleaves = 3", 2, {"frames.0.leaves: has no effect"}},
    {"[[frames]]\npins = [{frames = [1]}]",
     2,
     {"frames.0.pins.0.frames: is 1, must be >= -1, < 1, the number of frames"}},
    {"[[frames]]\npins = [{vertices = [1]}]", 2, {"frames.0.pins.0.vertices: unknown key"}},
    {"[[frames]]\npins = [{attach = \"h\"}]", 2, {"frames.0.pins.0: needs one of box_min and box_max, frames"}},
    {"[[frames]]\nforces = [{vertex = 1}]", 2, {"frames.0.forces: unknown key"}},
    // Attachments
    {"[[rod]]\n[[attachment]]\na = \"rod0\"", 2, {"attachment.0.b: missing"}},
    {"[[rod]]\n[[attachment]]\nb = \"rod0\"", 2, {"attachment.0.a: missing"}},
    {"[[rod]]\n[[attachment]]\na = \"rod1\"\nb = \"rod0\"", 3, {"attachment.0.a: there is no body 'rod1'", "'rod0'?"}},
    {"[[rod]]\n[[attachment]]\na = \"rod0\"\nb = \"x\"", 4, {"attachment.0.b: there is no body or collider 'x'"}},
    {"[[rod]]\n[[attachment]]\na = \"rod0\"\nb = \"rod0\"", 4, {"attachment.0.b: 'rod0' cannot be attached to itself"}},
    {"[[rod]]\n[[shell]]\n[[attachment]]\na = \"shell0\"\nb = \"rod0\"\nroots = true",
     6,
     {"attachment.0.roots: 'shell0' has no strands"}},
    {"[[rod]]\n[[shell]]\n[[attachment]]\na = \"rod0\"\nb = \"shell0\"", 3, {"attachment.0: holds nothing"}},
    {"[[collider]]\n[[rod]]\n[[attachment]]\na = \"collider0\"\nb = \"rod0\"", 4, {"there is no body 'collider0'"}},
    {"[[rod]]\n[[shell]]\n[[attachment]]\na = \"rod0\"\nb = \"shell0\"\nstiffness = 0",
     6,
     {"attachment.0.stiffness: is 0, must be > 0 N/m"}},
    // Grooms on meshes
    {"[[shell]]\n[[groom]]\non = \"shel0\"", 3, {"groom.0.on: there is no collider 'shel0'", "did you mean 'shell0'?"}},
    {"[[shell]]\n[[groom]]\non = \"shell0\"\nroot = \"pinned\"", 4, {"groom.0.root: has no effect on a soft body"}},
    {"[[shell]]\n[[groom]]\non = \"shell0\"\nposition = [0, 0, 1]", 4, {"groom.0.position: has no effect"}},
    {"[[shell]]\n[[groom]]\non = \"shell0\"\nregion = \"scalp\"", 4, {"groom.0.region: 'shell0' has no scalp"}},
    {"[[shell]]\n[[groom]]\non = \"shell0\"\nregion_min = [3, 3, 3]", 4, {"groom.0.region_min: holds too little"}},
    {"[[shell]]\n[[groom]]\non = \"shell0\"\nregion_min = [3, 3, 3]\nregion_max = [4, 2, 4]",
     5,
     {"groom.0.region_max: region_max must be > region_min"}},
    {"[[shell]]\n[[groom]]\non = \"shell0\"\nlean = 0.5\nlean_direction = [0, 0, 0]",
     5,
     {"lean_direction: has no length"}},
    {"[[shell]]\n[[groom]]\non = \"shell0\"\ndomain = \"patch\"", 4, {"groom.0.domain: does not lie on"}},
    {"[[groom]]\ndomain = \"surface\"", 2, {"groom.0.domain: needs a mesh or soft body to grow on"}},
    {"[[groom]]\nregion = \"scalp\"", 2, {"groom.0.region: has no effect but on a mesh"}},
    {"[[collider]]\nname = \"b\"\n[[groom]]\non = \"b\"\nroot_stiffness = 5",
     5,
     {"groom.0.root_stiffness: has no effect"}},
    // Running characters
    {"[[rod]]\n[[collider]]\nfollow_head_of = \"x\"", 3, {"collider.0.follow_head_of: there is no collider 'x'"}},
    {"[[rod]]\n[[collider]]\nname = \"a\"\n[[collider]]\nfollow_head_of = \"a\"", 5, {"'a' is no running character"}},
    {"[[rod]]\n[[collider]]\nname = \"a\"\n[[collider]]\nfollow_head_of = \"a\"\nposition_keys = [[0, 0, 0, 0]]",
     6,
     {"collider.1.position_keys: has no effect with follow_head_of"}},
    {"[[rod]]\n[[collider]]\nshape = \"mesh\"\nprocedural = \"rabbit\"\nrun = true",
     5,
     {"collider.0.run: has no effect"}},
    {"[time]\nduration = 1e5\n[[rod]]\n[[collider]]\nshape = \"mesh\"\nprocedural = \"character\"\nrun = true",
     7,
     {"collider.0.run: brings the scene to"}},
    // Motion and meshes
    {"[[rod]]\n[[collider]]\nposition_keys = [\n[0, 0, 0, 0],\n[2, 0, 0, 0],\n[1, 0, 0, 0]]",
     6,
     {"collider.0.position_keys: times must increase: 1 s comes after 2 s"}},
    {"[[rod]]\n[[collider]]\nrotation_keys = [[0, 0, 0]]", 3, {"collider.0.rotation_keys: expected [t, x, y, z]"}},
    {"[[rod]]\n[[collider]]\nrotation_keys = [[inf, 0, 0, 0]]", 3, {"collider.0.rotation_keys: inf is not"}},
    {"[[rod]]\n[[collider]]\nshape = \"mesh\"", 3, {"collider.0.shape: a mesh needs one of file"}},
    {"[[rod]]\n[[collider]]\nshape = \"mesh\"\nfile = \"a\"\nprocedural = \"box\"", 3, {"a mesh needs one of"}},
    {"[[rod]]\n[[collider]]\nshape = \"mesh\"\nfile = \"no/such.obj\"", 4, {"collider.0.file: ", "no/such.obj"}},
    {"[[rod]]\n[[collider]]\nshape = \"mesh\"\nfile = \"\"", 4, {"collider.0.file: names no file"}},
    {"[[rod]]\n[[collider]]\nshape = \"mesh\"\nsequence = []", 4, {"collider.0.sequence: names no file"}},
    {"[[rod]]\n[[collider]]\nshape = \"mesh\"\nsequence = \"no%04d.obj\"", 4, {"collider.0.sequence", "no0001.obj"}},
    {"[[rod]]\n[[collider]]\nshape = \"mesh\"\nsequence = \"a%s.obj\"", 4, {"one number, written %d or %0Nd"}},
    {"[[rod]]\n[[collider]]\nshape = \"mesh\"\nsequence = \"%d%d.obj\"", 4, {"one number, written %d or %0Nd"}},
    {"[[rod]]\n[[collider]]\nshape = \"mesh\"\nprocedural = \"torus\"\nminor_radius = 0.1\nradius = 0.1",
     5,
     {"collider.0.minor_radius: is 0.1 m, must be < radius"}},
};

/// A section with the text that opens it in a scene of its own; its keys go on the line after.
struct Opened {
  const scene::Section* section;
  std::string path;     // of its keys
  std::string opening;  // whole lines
  bool is_inline;       // its keys stand in an inline table on the last line
};

inline std::vector<Opened> open_sections() {
  std::vector<Opened> opened;
  const scene::Section& root = scene::root_section();
  opened.push_back({&root, "", "", false});
  for (const scene::Field& field : root.fields) {
    const std::string key(field.key);
    const scene::Slot slot = root.default_slot(field);
    if (const auto* table = std::get_if<scene::SubTable>(&slot))
      opened.push_back({table->section, key + ".", fmt::format("[[rod]]\n[{}]\n", key), false});
    const auto* list = std::get_if<scene::TableList>(&slot);
    if (!list) continue;
    opened.push_back({list->section, key + ".0.", fmt::format("[[{}]]\n", key), false});
    for (const scene::Field& inner : list->section->fields) {
      const scene::Slot inner_slot = list->section->default_slot(inner);
      if (const auto* inner_list = std::get_if<scene::TableList>(&inner_slot))
        opened.push_back({inner_list->section, fmt::format("{}.0.{}.0.", key, inner.key),
                          fmt::format("[[{}]]\n{} = [", key, inner.key), true});
    }
  }
  return opened;
}

/// Values that a slot must not take, each with a fragment of what is said about it.
struct BadValue {
  std::string text, fragment;
};

inline void add_bad_numbers(const scene::Range& range, const std::string& format, std::vector<BadValue>& bad) {
  const auto put = [&](const std::string& number) { return fmt::format(fmt::runtime(format), number); };
  bad.push_back({put("nan"), "nan is not a finite number"});
  bad.push_back({put("+inf"), "inf is not a finite number"});
  bad.push_back({put("\"1\""), "expected a number"});
  EXPECT_TRUE(std::isfinite(range.min) && std::isfinite(range.max)) << "a number without a range";
  bad.push_back({put(fmt::format("{:.17e}", range.excludes_min ? range.min : range.min - std::abs(range.min) - 1e-9)),
                 fmt::format("must be {} {}", range.excludes_min ? ">" : ">=", range.min)});
  bad.push_back(
      {put(fmt::format("{:.17e}", range.max + std::abs(range.max) + 1e-9)), fmt::format("must be <= {}", range.max)});
}

inline std::vector<BadValue> bad_values(const scene::Field& field, const scene::Slot& slot) {
  std::vector<BadValue> bad{{"{unknown = 1}", ""}};
  if (std::holds_alternative<bool*>(slot)) {
    bad.insert(bad.end(), {{"1", "expected true or false, got 1"}, {"\"true\"", "expected true or false"}});
  } else if (std::holds_alternative<int*>(slot)) {
    const auto min = static_cast<long>(field.range.min), max = static_cast<long>(field.range.max);
    bad.insert(bad.end(), {{"1.5", "expected an integer, got 1.5"},
                           {"true", "expected an integer, got true"},
                           {std::to_string(min - 1), fmt::format("is {}, must be >= {}", min - 1, min)},
                           {std::to_string(max + 1), fmt::format("is {}, must be <= {}", max + 1, max)}});
  } else if (std::holds_alternative<double*>(slot)) {
    bad.push_back({"false", "expected a number, got false"});
    add_bad_numbers(field.range, "{}", bad);
  } else if (std::holds_alternative<Eigen::Vector2d*>(slot)) {
    bad.push_back({"[1, 1, 1]", "expected a list of 2 numbers, got a list of 3"});
    add_bad_numbers(field.range, "[{}, 1]", bad);
  } else if (std::holds_alternative<Vec3*>(slot)) {
    bad.push_back({"1", "expected a list of 3 numbers, got 1"});
    add_bad_numbers(field.range, "[1, {}, 1]", bad);
  } else if (std::holds_alternative<scene::Scale>(slot)) {
    bad.push_back({"[1, 1]", "expected a list of 3 numbers, got a list of 2"});
    add_bad_numbers(field.range, "{}", bad);
    add_bad_numbers(field.range, "[1, 1, {}]", bad);
  } else if (std::holds_alternative<Eigen::Vector3i*>(slot)) {
    bad.insert(bad.end(), {{"1", "expected a list of 3 integers, got 1"},
                           {"[1, 1, 1.5]", "expected an integer, got 1.5"},
                           {"[1, 1, -1]", "is -1, must be >="},
                           {"[1, 1, 2000000000]", "is 2000000000, must be <="}});
  } else if (std::holds_alternative<std::vector<int>*>(slot)) {
    bad.insert(bad.end(), {{"1", "expected a list of integers, got 1"},
                           {"[1, 1.5]", "expected an integer, got 1.5"},
                           {"[0, 2000000000]", "is 2000000000, must be <="}});
  } else if (std::holds_alternative<std::string*>(slot)) {
    bad.insert(bad.end(), {{"1", "expected a string, got 1"}, {"[\"a\"]", "expected a string, got a list of 1"}});
  } else if (std::holds_alternative<scene::Choice>(slot)) {
    bad.insert(bad.end(), {{"1", "expected a string, got 1"}, {"\"zzzzzzzzz\"", "'zzzzzzzzz' is not one of"}});
  } else if (std::holds_alternative<std::vector<VectorKey>*>(slot)) {
    bad.push_back({"[[0, 1, 2]]", "expected [t, x, y, z], got a list of 3"});
    bad.push_back({"[[1, 0, 0, 0], [1, 0, 0, 0]]", "times must increase: 1 s comes after 1 s"});
    add_bad_numbers(field.range, "[[0, 0, {}, 0]]", bad);
  } else if (std::holds_alternative<std::vector<Vec3>*>(slot)) {
    bad.push_back({"[[0, 0, 0], [1, 0]]", "expected a list of 3 numbers"});
    add_bad_numbers(field.range, "[[0, 0, 0], [1, 0, {}]]", bad);
  } else if (std::holds_alternative<std::vector<std::string>*>(slot)) {
    bad.insert(bad.end(), {{"1", "expected a string or a list of strings"}, {"[1]", "expected a string, got 1"}});
  } else if (std::holds_alternative<scene::SubTable>(slot)) {
    bad.push_back({"1", "expected a table, got 1"});
  } else {
    bad.insert(bad.end(), {{"1", "expected a list of tables"}, {"[1]", ".0: expected a table, got 1"}});
  }
  return bad;
}

/// Every field of the schema with every kind of bad value, misspelt, and given twice.
inline std::vector<BrokenScene> broken_through_the_schema() {
  std::vector<BrokenScene> scenes;
  for (const Opened& opened : open_sections()) {
    const int line = 1 + static_cast<int>(std::count(opened.opening.begin(), opened.opening.end(), '\n'));
    const auto scene_with = [&](const std::string& line_text) {
      return opened.opening + (opened.is_inline ? "{" + line_text + "}]" : line_text) + "\n";
    };
    for (const scene::Field& field : opened.section->fields) {
      const std::string key(field.key), path = opened.path + key, misspelt = key + key.back();
      for (const BadValue& bad : bad_values(field, opened.section->default_slot(field)))
        scenes.push_back({scene_with(key + " = " + bad.text), line, {path, bad.fragment}});
      scenes.push_back({scene_with(misspelt + " = 1"), line, {opened.path + misspelt + ": unknown key"}});
      if (key.size() > 3) scenes.back().fragments.push_back("did you mean '" + key + "'?");
      const std::string separator = opened.is_inline ? ", " : "\n";
      scenes.push_back({scene_with(key + " = 1" + separator + key + " = 1"),
                        opened.is_inline ? line : line + 1,
                        {"TOML syntax", key}});
    }
  }
  return scenes;
}

}  // namespace stiction::test
