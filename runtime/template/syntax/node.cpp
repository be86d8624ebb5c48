#include "runtime/template/syntax/node.hpp"

#include "runtime/base/text.hpp"

namespace nomad::templates {
namespace {

std::string shown_list(const std::vector<Node>& nodes, std::string_view separator) {
  std::string out;
  for (const Node& node : nodes) {
    if (&node != &nodes.front()) out += separator;
    out += node.shown();
  }
  return out;
}

std::string shown_arguments(const std::vector<Node>& nodes) {
  std::string out;
  for (const Node& node : nodes) {
    if (&node != &nodes.front()) out += ' ';
    out += node.kind == NodeKind::pipeline ? '(' + node.shown() + ')' : node.shown();
  }
  return out;
}

std::string with_dots(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names)
    out += '.' + name;
  return out;
}

std::string shown_branch(const Node& node) {
  const std::string_view name = node.kind == NodeKind::if_     ? "if"
                                : node.kind == NodeKind::range ? "range"
                                                               : "with";
  std::string out = "{{" + std::string{name} + ' ' + node.nodes[0].shown() + "}}";
  out += node.nodes[1].shown();
  if (node.nodes.size() > 2) out += "{{else}}" + node.nodes[2].shown();
  return out + "{{end}}";
}

}  // namespace

std::string Node::shown() const {
  switch (kind) {
    case NodeKind::list:
      return shown_list(nodes, "");
    case NodeKind::action:
      return "{{" + nodes[0].shown() + "}}";
    case NodeKind::if_:
    case NodeKind::with:
    case NodeKind::range:
      return shown_branch(*this);
    case NodeKind::break_:
      return "{{break}}";
    case NodeKind::continue_:
      return "{{continue}}";
    case NodeKind::template_:
      return "{{template " + quote(text) + (nodes.empty() ? "" : ' ' + nodes[0].shown()) + "}}";
    case NodeKind::pipeline:
      return (names.empty() ? "" : join(names, ", ") + " := ") + shown_list(nodes, " | ");
    case NodeKind::command:
      return shown_arguments(nodes);
    case NodeKind::chain:
      return shown_arguments(nodes) + with_dots(names);
    case NodeKind::field:
      return with_dots(names);
    case NodeKind::variable:
      return join(names, ".");
    case NodeKind::dot:
      return ".";
    case NodeKind::nil:
      return "nil";
    case NodeKind::else_mark:
      return "{{else}}";
    case NodeKind::end_mark:
      return "{{end}}";
    case NodeKind::text:
    case NodeKind::identifier:
    case NodeKind::boolean:
    case NodeKind::number:
    case NodeKind::string:
      return text;
  }
  return text;
}

}  // namespace nomad::templates
