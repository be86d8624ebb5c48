#include "runtime/access/capability.hpp"

#include <algorithm>
#include <array>

namespace nomad::access {
namespace {

/// In the order of the capabilities, without `none`.
constexpr std::array<std::string_view, 44> words{
    "list-jobs",
    "parse-job",
    "read-job",
    "submit-job",
    "dispatch-job",
    "scale-job",
    "read-job-scaling",
    "list-scaling-policies",
    "read-scaling-policy",
    "read-logs",
    "read-fs",
    "alloc-lifecycle",
    "alloc-exec",
    "alloc-node-exec",
    "csi-list-volume",
    "csi-read-volume",
    "csi-mount-volume",
    "csi-write-volume",
    "csi-register-plugin",
    "sentinel-override",
    "submit-recommendation",
    "read-services",
    "any-in-namespace",
    "variables-list",
    "variables-read",
    "variables-write",
    "variables-destroy",
    "node-read",
    "node-write",
    "node-pool-read",
    "node-pool-write",
    "node-pool-delete",
    "node-pool-use",
    "host-volume-mount-readonly",
    "host-volume-mount-readwrite",
    "plugin-list",
    "plugin-read",
    "quota-read",
    "quota-write",
    "agent-read",
    "agent-write",
    "operator-read",
    "operator-write",
    "management",
};

static_assert(words.size() == static_cast<std::size_t>(Capability::management));
static_assert(words.size() < 64, "a set has a bit for each");

}  // namespace

std::string_view word_of(Capability capability) {
  const auto position = static_cast<std::size_t>(capability);
  return position == 0 || position > words.size() ? std::string_view{} : words[position - 1];
}

std::optional<Capability> capability_of(std::string_view word) {
  const auto* const found = std::ranges::find(words, word);
  if (found == words.end()) return {};
  return static_cast<Capability>(found - words.begin() + 1);
}

}  // namespace nomad::access
