// The XDMF 3 description of a cache: a temporal collection of frames, each a spatial collection of bodies. Arrays
// are named in cache.h5, so that a tool reads only the frame on show.
#include <fmt/format.h>

#include "io/cache.hpp"

namespace stiction {
namespace {

constexpr int xdmf_polyline = 2;  // cell type in a list of mixed cells

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string data_item(const std::string& dataset, const std::string& dims, const std::string& type, int precision) {
  return fmt::format(R"(<DataItem Dimensions="{}" NumberType="{}" Precision="{}" Format="HDF">cache.h5:/{}</DataItem>)",
                     dims, type, precision, dataset);
}

std::string geometry(const std::string& group, std::size_t frame, std::size_t nodes) {
  return fmt::format(
      R"(<Geometry GeometryType="XYZ">{}</Geometry>)",
      data_item(fmt::format("{}/positions/{}", group, frame), fmt::format("{} 3", nodes), "Float", sizeof(float)));
}

std::string body_grid(const std::string& name, const std::string& content) {
  return fmt::format("   <Grid Name=\"{}\" GridType=\"Uniform\">\n    {}\n   </Grid>\n", escaped(name), content);
}

std::string curves_grid(const CurveLayout& curves, std::size_t body, std::size_t frame) {
  const std::string group = fmt::format("curves/{}", body);
  const std::size_t nodes = curves.radius.size();
  const std::size_t count = curves.offsets.size() - 1;
  return body_grid(curves.name,
                   fmt::format(R"(<Topology TopologyType="Mixed" NumberOfElements="{}">{}</Topology>)", count,
                               data_item(group + "/topology", std::to_string(nodes + 2 * count), "Int", sizeof(int))) +
                       geometry(group, frame, nodes) +
                       fmt::format(R"(<Attribute Name="radius" AttributeType="Scalar" Center="Node">{}</Attribute>)",
                                   data_item(group + "/radius", std::to_string(nodes), "Float", sizeof(double))));
}

std::string mesh_grid(const MeshLayout& mesh, std::size_t body, std::size_t frame) {
  const std::string group = fmt::format("meshes/{}", body);
  const std::size_t count = mesh.triangles.size();
  return body_grid(mesh.name,
                   fmt::format(R"(<Topology TopologyType="Triangle" NumberOfElements="{}">{}</Topology>)", count,
                               data_item(group + "/triangles", fmt::format("{} 3", count), "Int", sizeof(int))) +
                       geometry(group, frame, static_cast<std::size_t>(mesh.vertex_count)));
}

}  // namespace

std::vector<int> xdmf_polylines(const CurveLayout& curves) {
  std::vector<int> cells;
  for (std::size_t i = 0; i + 1 < curves.offsets.size(); ++i) {
    cells.push_back(xdmf_polyline);
    cells.push_back(curves.offsets[i + 1] - curves.offsets[i]);
    for (int node = curves.offsets[i]; node < curves.offsets[i + 1]; ++node) cells.push_back(node);
  }
  return cells;
}

std::string xdmf_text(const FrameLayout& layout, std::span<const double> times) {
  std::string text =
      "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">\n<Domain>\n"
      "<Grid Name=\"frames\" GridType=\"Collection\" CollectionType=\"Temporal\">\n";
  for (std::size_t frame = 0; frame < times.size(); ++frame) {
    text += fmt::format(
        "  <Grid Name=\"frame {}\" GridType=\"Collection\" CollectionType=\"Spatial\">\n   <Time Value=\"{}\"/>\n",
        frame, times[frame]);
    for (std::size_t body = 0; body < layout.curves.size(); ++body) {
      const CurveLayout& curves = layout.curves[body];
      if (!curves.radius.empty()) text += curves_grid(curves, body, frame);
    }
    for (std::size_t body = 0; body < layout.meshes.size(); ++body) {
      const MeshLayout& mesh = layout.meshes[body];
      if (!mesh.triangles.empty()) text += mesh_grid(mesh, body, frame);
    }
    text += "  </Grid>\n";
  }
  return text + "</Grid>\n</Domain>\n</Xdmf>\n";
}

}  // namespace stiction
