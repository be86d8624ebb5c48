#include "actors/raft/recovery.hpp"

#include <algorithm>
#include <iterator>

#include <boost/json.hpp>

#include "actors/raft/raft_node.hpp"
#include "runtime/base/files/bounded.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/random.hpp"
#include "runtime/storage/directory.hpp"

namespace nomad::raft {
namespace {

constexpr std::size_t max_file_bytes = std::size_t{1} << 20;

std::string path_in(const std::string& directory) {
  return directory + "/peers.json";
}

Error bad(const std::string& why) {
  return {Errc::invalid_argument, "peers.json: " + why};
}

Result<Member> read_member(const boost::json::value& value) {
  const auto* object = value.if_object();
  if (object == nullptr) return bad("each server is an object");
  Member member;
  member.voter = true;
  for (const auto& [key, field] : *object) {
    if (key == "id" && field.is_string())
      member.id = field.get_string();
    else if (key == "address" && field.is_string())
      member.address = field.get_string();
    else if (key == "non_voter" && field.is_bool())
      member.voter = !field.get_bool();
    else
      return bad("unexpected \"" + std::string{key} + "\": expected the texts \"id\" and "
                 "\"address\" and the truth value \"non_voter\"");
  }
  if (member.id.empty() || member.address.empty())
    return bad("each server needs an \"id\" and an \"address\"");
  return member;
}

Result<> add(Configuration& configuration, Member member) {
  if (configuration.find(member.id) != nullptr)
    return bad("server \"" + member.id + "\" is named twice");
  if (std::ranges::find(configuration.removed, member.id) != configuration.removed.end())
    return bad("server \"" + member.id
               + "\" was removed from this cluster: its id is never used again");
  const auto at = std::ranges::lower_bound(configuration.members, member.id, {}, &Member::id);
  configuration.members.insert(at, std::move(member));
  return {};
}

}  // namespace

std::string id_from(std::string_view text) {
  std::uint64_t seed = 0xcbf2'9ce4'8422'2325;
  for (const char letter : text)
    seed = (seed ^ static_cast<unsigned char>(letter)) * 0x0000'0100'0000'01b3;
  Random random{seed};
  return make_uuid(random);
}

std::string new_cluster_id(const std::vector<Member>& members) {
  std::vector<ServerId> ids;
  for (const auto& member : members)
    ids.push_back(member.id);
  std::ranges::sort(ids);
  std::string all = "cluster";
  for (const auto& id : ids)
    all += '\0' + id;
  return id_from(all);
}

Result<Configuration> recovered_configuration(const Configuration& before,
                                              const ServerId& self,
                                              std::string_view text) {
  boost::system::error_code failure;
  const auto tree = boost::json::parse({text.data(), text.size()}, failure);
  if (failure) return bad(failure.message());
  const auto* list = tree.if_array();
  if (list == nullptr || list->empty()) return bad("expected a list of servers");
  Configuration next{.cluster_id = id_from(before.cluster_id + '\0' + std::string{text}),
                     .members = {},
                     .removed = before.removed};
  for (const auto& value : *list) {
    auto member = NOMAD_TRY(read_member(value));
    NOMAD_TRY(add(next, std::move(member)));
  }
  if (next.voter_count() == 0) return bad("at least one server must be a voter");
  if (next.find(self) == nullptr) return bad("it does not name this server, \"" + self + "\"");
  for (const auto& member : before.members)
    if (next.find(member.id) == nullptr) next.removed.push_back(member.id);
  return next;
}

Result<std::string> read_peers_file(const std::string& directory) {
  auto text = read_whole_file(path_in(directory), max_file_bytes);
  if (text.error().code == Errc::not_found) return std::string{};
  if (text && text->empty()) return bad("the file is empty");
  return text;
}

Result<> remove_peers_file(const std::string& directory) {
  return storage::remove_file(path_in(directory));
}

}  // namespace nomad::raft
