#include "cli/kinds/specification.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/config/config_file.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::cli {
namespace {

Error wrong(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

std::string_view key_of(const boost::json::key_value_pair& entry) {
  return {entry.key().data(), entry.key().size()};
}

/// Puts what `names` says in place of the block under `name`, if that is there.
Result<> rename_block(boost::json::object& object, std::string_view name, HclNames names) {
  auto* block = object.if_contains({name.data(), name.size()});
  if (block == nullptr) return {};
  if (!block->is_object()) return wrong(fmt::format("{}: expected a block", name));
  *block = NOMAD_TRY(renamed(block->get_object(), names).within(std::string{name}));
  return {};
}

struct LabeledBlock {
  std::string label;
  boost::json::object body;
};

/// The file's only block, `block "<name>"`.
Result<LabeledBlock> only_block(const boost::json::object& file, const std::string& block) {
  const auto* blocks = file.if_contains(block);
  if (blocks == nullptr || !blocks->is_object() || file.size() != 1
      || blocks->get_object().size() != 1 || !blocks->get_object().begin()->value().is_object())
    return wrong(fmt::format("expected one block, {} \"<name>\"", block));
  const auto& entry = *blocks->get_object().begin();
  return LabeledBlock{std::string{key_of(entry)}, entry.value().get_object()};
}

/// "started_at": "StartedAt".
std::string camel_case(std::string_view name) {
  std::string out;
  bool begins = true;
  for (const char c : name) {
    if (c != '_') out += begins && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    begins = c == '_';
  }
  return out;
}

/// Values of maps of texts may be written as numbers or booleans.
Result<> make_texts(boost::json::object& object, std::string_view name) {
  auto* map = object.if_contains({name.data(), name.size()});
  if (map == nullptr) return {};
  if (!map->is_object()) return wrong(fmt::format("{}: expected a block", name));
  for (auto& entry : map->get_object())
    if (!entry.value().is_string()) entry.value() = boost::json::serialize(entry.value());
  return {};
}

}  // namespace

Result<boost::json::object> renamed(const boost::json::object& block, HclNames names) {
  boost::json::object out;
  for (const auto& entry : block) {
    const auto known = std::find_if(names.begin(), names.end(),
                                    [&](const auto& name) { return name.first == key_of(entry); });
    if (known == names.end()) return wrong(fmt::format("invalid key: {}", key_of(entry)));
    out[{known->second.data(), known->second.size()}] = entry.value();
  }
  return out;
}

Result<boost::json::object> namespace_of_hcl(std::string text) {
  const auto file = NOMAD_TRY(config::parse_config_text("namespace", std::move(text)));
  auto ns = NOMAD_TRY(renamed(file.tree, {{"name", "Name"},
                                          {"description", "Description"},
                                          {"quota", "Quota"},
                                          {"meta", "Meta"},
                                          {"capabilities", "Capabilities"},
                                          {"node_pool_config", "NodePoolConfiguration"}}));
  NOMAD_TRY(make_texts(ns, "Meta"));
  NOMAD_TRY(rename_block(ns, "Capabilities",
                         {{"enabled_task_drivers", "EnabledTaskDrivers"},
                          {"disabled_task_drivers", "DisabledTaskDrivers"}}));
  NOMAD_TRY(rename_block(ns, "NodePoolConfiguration",
                         {{"default", "Default"}, {"allowed", "Allowed"}, {"denied", "Denied"}}));
  return ns;
}

Result<boost::json::object> block_of_hcl(const std::string& block,
                                         const std::string& file,
                                         std::string text) {
  const auto read = NOMAD_TRY(config::parse_config_text(file, std::move(text)));
  const auto one = NOMAD_TRY(only_block(read.tree, block));
  boost::json::object object{{"Name", one.label}};
  for (const auto& entry : one.body)
    object[camel_case(key_of(entry))] = entry.value();
  return object;
}

Result<boost::json::object> node_pool_of_hcl(const std::string& name, std::string text) {
  const auto file = NOMAD_TRY(config::parse_config_text(name, std::move(text)));
  const auto one = NOMAD_TRY(only_block(file.tree, "node_pool"));
  auto pool = NOMAD_TRY(renamed(one.body, {{"description", "Description"},
                                           {"meta", "Meta"},
                                           {"scheduler_config", "SchedulerConfiguration"}}));
  pool["Name"] = one.label;
  NOMAD_TRY(make_texts(pool, "Meta"));
  NOMAD_TRY(rename_block(pool, "SchedulerConfiguration",
                         {{"scheduler_algorithm", "SchedulerAlgorithm"},
                          {"memory_oversubscription_enabled", "MemoryOversubscriptionEnabled"}}));
  return pool;
}

namespace {

/// {"nvidia/gpu": {"count": 1}} as a list.
Result<boost::json::array> devices_of_hcl(const boost::json::value& blocks) {
  boost::json::array devices;
  if (!blocks.is_object()) return wrong("device: expected a block");
  for (const auto& entry : blocks.get_object()) {
    if (!entry.value().is_object()) return wrong("device: expected a block with a name");
    auto device
        = NOMAD_TRY(renamed(entry.value().get_object(), {{"count", "Count"}}).within("device"));
    device["Name"] = key_of(entry);
    devices.emplace_back(std::move(device));
  }
  return devices;
}

Result<boost::json::object> limit_of_hcl(const boost::json::value& block) {
  if (!block.is_object()) return wrong("expected a block");
  auto limit = NOMAD_TRY(renamed(block.get_object(), {{"region", "Region"},
                                                      {"region_limit", "RegionLimit"},
                                                      {"variables_limit", "VariablesLimit"}}));
  NOMAD_TRY(rename_block(limit, "RegionLimit",
                         {{"cpu", "CPU"},
                          {"cores", "Cores"},
                          {"memory", "MemoryMB"},
                          {"memory_max", "MemoryMaxMB"},
                          {"allocations", "Allocations"},
                          {"device", "Devices"}}));
  if (auto* resources = limit.if_contains("RegionLimit"))
    if (auto* devices = resources->get_object().if_contains("Devices"))
      *devices = NOMAD_TRY(devices_of_hcl(*devices));
  return limit;
}

}  // namespace

Result<boost::json::object> quota_of_hcl(const std::string& name, std::string text) {
  const auto file = NOMAD_TRY(config::parse_config_text(name, std::move(text), "limit"));
  auto quota = NOMAD_TRY(
      renamed(file.tree, {{"name", "Name"}, {"description", "Description"}, {"limit", "Limits"}}));
  auto* limits = quota.if_contains("Limits");
  if (limits == nullptr) return quota;
  if (!limits->is_array()) return wrong("limit: expected a block");
  for (auto& limit : limits->get_array())
    limit = NOMAD_TRY(limit_of_hcl(limit).within("limit"));
  return quota;
}

Result<boost::json::object> object_of_json(const std::string& text) {
  auto tree = NOMAD_TRY(parse_json(text));
  if (!tree.is_object()) return wrong("expected an object");
  return std::move(tree.get_object());
}

}  // namespace nomad::cli
