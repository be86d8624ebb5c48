#include "cli/operator/debug_events.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/text.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::cli {
namespace {

constexpr std::array event_topics = std::to_array<std::string_view>(
    {"ACLAuthMethod", "ACLBindingRule", "ACLPolicy", "ACLRole", "ACLToken", "Allocation",
     "Deployment", "Evaluation", "Job", "Node", "NodePool", "Service"});

constexpr std::array kept_of_jobs
    = std::to_array<std::string_view>({"ID", "Namespace", "Type", "Status", "Stop", "Version",
                                       "CreateIndex", "ModifyIndex", "JobModifyIndex"});

constexpr std::array secret_members = std::to_array<std::string_view>(
    {"SecretID", "SignedIdentities", "OIDCClientSecret", "Payload"});

void leave_out_secrets(boost::json::value& value);

/// A job's groups are a list; those of a deployment are counts by their names.
bool is_job(const boost::json::object& object) {
  const auto* const groups = object.if_contains("TaskGroups");
  return groups != nullptr && groups->is_array();
}

void keep_identity(boost::json::object& job) {
  boost::json::object kept;
  for (const auto name : kept_of_jobs)
    if (const auto* member = job.if_contains({name.data(), name.size()}))
      kept[boost::json::string_view{name.data(), name.size()}] = *member;
  job = std::move(kept);
}

void leave_out_secrets(boost::json::object& object) {
  if (is_job(object)) return keep_identity(object);
  for (const auto name : secret_members)
    object.erase({name.data(), name.size()});
  for (auto& member : object) {
    auto* const job = member.key() == "Job" ? member.value().if_object() : nullptr;
    if (job != nullptr)
      keep_identity(*job);
    else
      leave_out_secrets(member.value());
  }
}

void leave_out_secrets(boost::json::value& value) {
  if (auto* object = value.if_object()) leave_out_secrets(*object);
  if (auto* array = value.if_array())
    for (auto& element : *array)
      leave_out_secrets(element);
}

}  // namespace

Result<std::vector<std::string>> parse_event_topics(std::string_view text) {
  if (text.empty() || text == "none") return std::vector<std::string>{};
  if (text == "all") return std::vector<std::string>{"*:*"};
  std::vector<std::string> topics;
  for (const auto one : split(text, ',')) {
    const auto words = split(one, ':');
    const auto topic = words[0];
    if (topic != "*" && std::ranges::find(event_topics, topic) == event_topics.end())
      return Error{
          Errc::invalid_argument,
          fmt::format("{} is no topic of events; expected \"none\", \"all\", \"*\" or one of {}",
                      quote(topic), fmt::join(event_topics, ", "))};
    if (words.size() > 2)
      return Error{Errc::invalid_argument,
                   fmt::format("{} has more than a topic and what is wanted of it", quote(one))};
    const bool has_filter = words.size() == 2 && !words[1].empty();
    topics.push_back(fmt::format("{}:{}", topic, has_filter ? words[1] : "*"));
  }
  return topics;
}

Result<std::string> event_lines(std::string_view line) {
  auto frame = NOMAD_TRY(parse_json(line));
  auto* const object = frame.if_object();
  auto* const listed = object == nullptr ? nullptr : object->if_contains("Events");
  std::string lines;
  if (listed == nullptr || !listed->is_array()) return lines;
  for (auto& event : listed->get_array()) {
    if (auto* const fields = event.if_object())
      if (auto* const payload = fields->if_contains("Payload")) leave_out_secrets(*payload);
    lines += boost::json::serialize(event) + '\n';
  }
  return lines;
}

}  // namespace nomad::cli
