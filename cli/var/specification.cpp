#include "cli/var/specification.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/output/json_view.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::cli {
namespace {

Error bad_specification(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

/// The member `name` in either of its spellings; null when absent.
View member(const boost::json::object& tree,
            std::string_view json_name,
            std::string_view hcl_name) {
  for (const auto name : {json_name, hcl_name})
    if (const auto* found = tree.if_contains({name.data(), name.size()})) return View{*found};
  return {};
}

Result<boost::json::object> parse_specification(const std::string& text, std::string_view format) {
  if (format == "hcl") {
    auto file = NOMAD_TRY(config::parse_config_text("variable", text).within("error parsing hcl"));
    for (const auto& entry : file.tree)
      if (const std::string_view key{entry.key().data(), entry.key().size()};
          key != "namespace" && key != "path" && key != "create_index" && key != "modify_index"
          && key != "create_time" && key != "modify_time" && key != "items" && key != "lock")
        return bad_specification(fmt::format("error parsing hcl: invalid key: {}", key));
    return std::move(file.tree);
  }
  auto tree = parse_json(text);
  if (!tree) return tree.error().within("error unmarshaling json");
  if (!tree->is_object()) return bad_specification("error unmarshaling json: expected an object");
  return tree->as_object();
}

/// The text of a member of a lock in one of its spellings; "" without it.
std::string lock_text(const View& lock, std::initializer_list<const char*> names) {
  for (const auto* name : names)
    if (const auto text = lock[name].text(); !text.empty()) return text;
  return {};
}

}  // namespace

bool is_file_reference(std::string_view argument) {
  return argument.starts_with('@');
}

std::string trimmed_path(std::string path) {
  path.erase(0, std::min(path.find_first_not_of("/ \t"), path.size()));
  path.erase(path.find_last_not_of("/ \t") + 1);
  return path;
}

std::string_view specification_format(std::string_view file) {
  for (const std::string_view format : {"json", "hcl"})
    if (file.ends_with("." + std::string{format})) return format;
  return {};
}

Result<VariableDraft> parse_variable(const std::string& text,
                                     std::string_view format,
                                     const std::string& ns,
                                     const std::string& path) {
  VariableDraft draft{.ns = ns, .path = path, .modify_index = 0, .items = {}, .lock = {}};
  if (text.empty()) return draft;
  const auto tree = NOMAD_TRY(parse_specification(text, format));
  for (const auto& [key, value] : member(tree, "Items", "items").members())
    draft.items[key] = value.text();
  if (const auto lock = member(tree, "Lock", "lock"); !lock.members().empty())
    draft.lock = {.ttl = lock_text(lock, {"TTL", "ttl"}),
                  .delay = lock_text(lock, {"LockDelay", "lock_delay", "delay"})};
  const auto named_ns = member(tree, "Namespace", "namespace").text();
  const auto named = member(tree, "Path", "path").text();
  const bool is_moved
      = (!draft.ns.empty() && draft.ns != named_ns) || (!path.empty() && path != named);
  if (draft.ns.empty()) draft.ns = named_ns;
  if (draft.path.empty()) draft.path = named;
  if (!is_moved)
    draft.modify_index
        = static_cast<std::uint64_t>(member(tree, "ModifyIndex", "modify_index").number());
  return draft;
}

}  // namespace nomad::cli
