#include "runtime/scheduler/plan/node_facts.hpp"

#include <cstdint>

#include "runtime/object/entries.hpp"

namespace nomad::scheduler {
namespace {

/// FNV-1a over length-prefixed pieces, so that no two sequences of pieces run together.
class Hash {
public:
  void add(std::string_view piece) {
    const std::uint64_t size = piece.size();
    mix(reinterpret_cast<const char*>(&size), sizeof size);
    mix(piece.data(), piece.size());
  }

  std::uint64_t value() const { return value_; }

private:
  void mix(const char* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      value_ ^= static_cast<unsigned char>(bytes[i]);
      value_ *= 0x100000001b3ULL;
    }
  }

  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

constexpr std::string_view unique_prefix = "unique.";

void add_shared_entries(Hash& hash, capnp::List<schema::TextEntry>::Reader entries) {
  for (const auto entry : entries) {
    if (view(entry.getKey()).starts_with(unique_prefix)) continue;
    hash.add(view(entry.getKey()));
    hash.add(view(entry.getValue()));
  }
  hash.add("end");
}

bool is_true(std::string_view text) {
  return text == "1" || text == "t" || text == "T" || text == "true" || text == "TRUE"
         || text == "True";
}

}  // namespace

bool is_ready(schema::Node::Reader node) {
  return node.getStatus() == schema::NodeStatus::READY && !node.hasDrainStrategy()
         && node.getSchedulingEligibility() == schema::SchedulingEligibility::ELIGIBLE;
}

std::optional<std::string_view> resolve_target(std::string_view target, schema::Node::Reader node) {
  constexpr std::string_view attribute = "${attr.";
  constexpr std::string_view meta = "${meta.";
  if (!target.starts_with("${")) return target;
  if (target == "${node.unique.id}") return view(node.getId());
  if (target == "${node.datacenter}") return view(node.getDatacenter());
  if (target == "${node.unique.name}") return view(node.getName());
  if (target == "${node.class}") return view(node.getNodeClass());
  if (target == "${node.pool}") return view(node.getNodePool());
  const auto name_after = [target](std::string_view prefix) {
    auto name = target.substr(prefix.size());
    if (name.ends_with('}')) name.remove_suffix(1);
    return name;
  };
  if (target.starts_with(attribute)) return find_text(node.getAttributes(), name_after(attribute));
  if (target.starts_with(meta)) return find_text(node.getMeta(), name_after(meta));
  return std::nullopt;
}

std::string interpolate(std::string_view text, schema::Node::Reader node) {
  std::string result;
  while (true) {
    const auto start = text.find("${");
    const auto end = start == std::string_view::npos ? start : text.find('}', start);
    if (end == std::string_view::npos) return result.append(text);
    result.append(text.substr(0, start));
    const auto target = text.substr(start, end + 1 - start);
    result.append(resolve_target(target, node).value_or(target));
    text.remove_prefix(end + 1);
  }
}

bool target_escapes_class(std::string_view target) {
  return target.starts_with("${node.unique.") || target.starts_with("${attr.unique.")
         || target.starts_with("${meta.unique.");
}

std::string computed_class(schema::Node::Reader node) {
  Hash hash;
  hash.add(view(node.getDatacenter()));
  hash.add(view(node.getNodeClass()));
  hash.add(view(node.getNodePool()));
  add_shared_entries(hash, node.getAttributes());
  add_shared_entries(hash, node.getMeta());
  for (const auto device : node.getNodeResources().getDevices()) {
    hash.add(view(device.getVendor()));
    hash.add(view(device.getType()));
    hash.add(view(device.getName()));
    hash.add(view(device.getAttributes()));
  }
  hash.add("end");
  for (const auto driver : usable_drivers(node))
    hash.add(driver);
  return "v1:" + std::to_string(hash.value());
}

std::vector<std::string_view> usable_drivers(schema::Node::Reader node) {
  std::vector<std::string_view> names;
  for (const auto entry : node.getDrivers())
    if (entry.getValue().getDetected() && entry.getValue().getHealthy())
      names.push_back(view(entry.getKey()));
  return names;
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t in_text = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (in_text < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_text = in_text;
    } else if (at < pattern.size() && pattern[at] == text[in_text]) {
      ++at;
      ++in_text;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_text = ++star_text;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*')
    ++at;
  return at == pattern.size();
}

bool is_in_pool(schema::Node::Reader node, schema::Job::Reader job) {
  const auto pool = view(job.getNodePool());
  return pool == "all" || pool == view(node.getNodePool());
}

bool is_in_datacenter(std::string_view name, schema::Job::Reader job) {
  for (const auto pattern : job.getDatacenters())
    if (matches_glob(view(pattern), name)) return true;
  return false;
}

bool is_in_job_scope(schema::Node::Reader node, schema::Job::Reader job) {
  return is_in_pool(node, job) && is_in_datacenter(view(node.getDatacenter()), job);
}

bool has_driver(schema::Node::Reader node, std::string_view driver) {
  const auto drivers = node.getDrivers();
  if (const auto position = find_entry(drivers, driver)) {
    const auto info = drivers[*position].getValue();
    return info.getDetected() && info.getHealthy();
  }
  const auto attribute = find_text(node.getAttributes(), "driver." + std::string{driver});
  return attribute && is_true(*attribute);
}

}  // namespace nomad::scheduler
