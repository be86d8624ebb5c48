// What is done to every decoded job, canonicalized or not.
#include <initializer_list>
#include <string_view>

#include <boost/json.hpp>

#include "runtime/jobspec/parse/decode.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;
using tree::each;
using tree::set_default;

/// Job files have one kind of port block; those with a number are reserved.
void sort_ports(object& network) {
  array* ports = tree::find_list(network, "DynamicPorts");
  if (ports == nullptr || ports->empty()) return;
  array dynamic_ports;
  array reserved_ports;
  for (value& port : *ports) {
    const bool reserved = tree::number(port.get_object(), "Value") > 0;
    (reserved ? reserved_ports : dynamic_ports).push_back(std::move(port));
  }
  network["DynamicPorts"]
      = dynamic_ports.empty() ? value(nullptr) : value(std::move(dynamic_ports));
  network["ReservedPorts"]
      = reserved_ports.empty() ? value(nullptr) : value(std::move(reserved_ports));
}

/// The annotated defaults of these fields, which job files have even before canonicalization.
void fill_some(object& block,
               const BlockType& type,
               std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    set_default(block, name, *type.find(name)->fallback);
}

void normalize_template(object& tmpl) {
  const BlockType& type = block_types().tmpl;
  fill_some(tmpl, type, {"ChangeMode", "Perms", "Splay", "ErrMissingKey"});
  if (object* script = tree::child(tmpl, "ChangeScript")) {
    set_default(*script, "Args", array{});
    fill_some(*script, *type.find("ChangeScript")->block, {"Timeout", "FailOnError"});
  }
}

}  // namespace

void normalize_vault(object& vault) {
  fill_some(vault, block_types().vault, {"Env", "DisableFile", "ChangeMode"});
}

void normalize(object& job) {
  if (object* periodic = tree::child(job, "Periodic"))
    if (tree::find(*periodic, "Spec") != nullptr || tree::find(*periodic, "Specs") != nullptr)
      (*periodic)["SpecType"] = "cron";
  each(job, "TaskGroups", [](object& group) {
    each(group, "Networks", sort_ports);
    each(group, "Tasks", [](object& task) {
      if (object* resources = tree::child(task, "Resources"))
        each(*resources, "Networks", sort_ports);
      each(task, "Templates", normalize_template);
      if (object* vault = tree::child(task, "Vault")) normalize_vault(*vault);
    });
  });
}

}  // namespace nomad::jobspec
