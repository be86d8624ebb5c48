// What is done to every decoded job, canonicalized or not.
#include <boost/json.hpp>

#include "runtime/jobspec/decode.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;
using tree::each;
using tree::set_default;

constexpr std::int64_t five_seconds = 5'000'000'000;

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

void normalize_template(object& tmpl) {
  set_default(tmpl, "ChangeMode", "restart");
  set_default(tmpl, "Perms", "0644");
  set_default(tmpl, "Splay", five_seconds);
  set_default(tmpl, "ErrMissingKey", false);
  if (object* script = tree::child(tmpl, "ChangeScript")) {
    set_default(*script, "Args", array{});
    set_default(*script, "Timeout", five_seconds);
    set_default(*script, "FailOnError", false);
  }
}

}  // namespace

void normalize_vault(object& vault) {
  set_default(vault, "Env", true);
  set_default(vault, "DisableFile", false);
  set_default(vault, "ChangeMode", "restart");
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
