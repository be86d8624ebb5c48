#include "runtime/cluster/data/node_data.hpp"

#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "runtime/access/authorize.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::cluster {
namespace {

using templates::ClusterQuery;
using Kind = ClusterQuery::Kind;

/// FNV-1a: the same on every server.
class Digest {
public:
  void add(std::string_view text) {
    for (const char c : text)
      add_byte(static_cast<unsigned char>(c));
    add_byte(0);
  }

  void add(std::uint64_t number) {
    for (int byte = 0; byte < 8; ++byte)
      add_byte(static_cast<unsigned char>(number >> (8 * byte)));
  }

  std::uint64_t value() const { return value_ == 0 ? 1 : value_; }

private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 1'099'511'628'211U; }

  std::uint64_t value_ = 14'695'981'039'346'656'037U;
};

Error too_many(const ClusterQuery& query) {
  return {Errc::too_large, fmt::format("more than {} rows answer to \"{}\"; ask for fewer",
                                       most_data_rows, query.name)};
}

Result<NodeData> read_services(const state::Snapshot& snapshot, const ClusterQuery& query) {
  std::map<std::string, std::set<std::string>, std::less<>> names;
  for (const auto& entry : snapshot.services(query.name_space)) {
    const auto& service = entry.value();
    auto& tags = names[copy(service->getServiceName())];
    for (const auto tag : service->getTags())
      tags.insert(copy(tag));
    if (names.size() > most_data_rows) return too_many(query);
  }
  NodeData data;
  for (const auto& [name, tags] : names) {
    Draft<schema::ServiceRegistration> draft;
    draft->setServiceName(text(name));
    auto list = draft->initTags(static_cast<unsigned>(tags.size()));
    unsigned at = 0;
    for (const auto& tag : tags)
      list.set(at++, text(tag));
    data.services.push_back(draft.freeze());
  }
  return data;
}

bool has_tag(schema::ServiceRegistration::Reader service, std::string_view wanted) {
  if (wanted.empty()) return true;
  for (const auto tag : service.getTags())
    if (view(tag) == wanted) return true;
  return false;
}

Result<NodeData> read_service(const state::Snapshot& snapshot, const ClusterQuery& query) {
  const auto choice = NOMAD_TRY(parse_choice(query.choose));
  NodeData data;
  for (const auto& entry : snapshot.services_by_name(query.name_space, query.name)) {
    if (!has_tag(*entry.value(), query.tag)) continue;
    data.services.push_back(entry.value());
    if (data.services.size() > most_data_rows) return too_many(query);
  }
  if (choice) data.services = choose(std::move(data.services), *choice);
  return data;
}

std::string variables_prefix(const ClusterQuery& query) {
  return query.name_space == "*" ? std::string{} : state::join_key(query.name_space, query.name);
}

Result<NodeData> read_variables(const state::Snapshot& snapshot, const ClusterQuery& query) {
  NodeData data;
  for (const auto& entry : snapshot.variables_map().prefix(variables_prefix(query))) {
    const auto& variable = entry.value();
    if (!view(variable->getPath()).starts_with(query.name)) continue;
    data.variables.push_back(variable);
    if (data.variables.size() > most_data_rows) return too_many(query);
  }
  return data;
}

}  // namespace

Result<NodeData> read_node_data(const state::Snapshot& snapshot, const ClusterQuery& query) {
  switch (query.kind) {
    case Kind::services:
      return read_services(snapshot, query);
    case Kind::service:
      return read_service(snapshot, query);
    case Kind::variables:
      return read_variables(snapshot, query);
    case Kind::variable:
      break;
  }
  NodeData data;
  if (auto variable = snapshot.variable(query.name_space, query.name))
    data.variables.push_back(std::move(variable));
  return data;
}

Result<NodeData> for_rights(NodeData data,
                            const templates::ClusterQuery& query,
                            const access::Rights& rights) {
  using access::Capability;
  switch (query.kind) {
    case Kind::services:
    case Kind::service:
      if (rights.allow(Capability::read_services, {.ns = query.name_space})) return data;
      return access::permission_denied();
    case Kind::variables:
      std::erase_if(data.variables, [&](const auto& variable) {
        return !rights.allow(Capability::variables_list, {.ns = view(variable->getNamespace()),
                                                          .path = view(variable->getPath())});
      });
      return data;
    case Kind::variable:
      break;
  }
  if (rights.allow(Capability::variables_read, {.ns = query.name_space, .path = query.name}))
    return data;
  return access::permission_denied();
}

std::uint64_t digest_of(const NodeData& data) {
  Digest digest;
  digest.add(data.services.size());
  for (const auto& service : data.services) {
    digest.add(view(service->getId()));
    digest.add(view(service->getServiceName()));
    digest.add(service->getModifyIndex());
    for (const auto tag : service->getTags())
      digest.add(view(tag));
  }
  for (const auto& variable : data.variables) {
    digest.add(view(variable->getNamespace()));
    digest.add(view(variable->getPath()));
    digest.add(variable->getModifyIndex());
  }
  return digest.value();
}

state::WatchKey node_data_watch(const ClusterQuery& query) {
  using state::Table;
  switch (query.kind) {
    case Kind::services:
      return state::watch_prefix(Table::services, state::join_key(query.name_space, ""));
    case Kind::service:
      return state::watch_key(Table::services_by_name,
                              state::join_key(query.name_space, query.name));
    case Kind::variables:
      return state::watch_prefix(Table::variables, variables_prefix(query));
    case Kind::variable:
      break;
  }
  return state::watch_key(Table::variables, state::join_key(query.name_space, query.name));
}

bool reads_many(const ClusterQuery& query) {
  return query.kind == Kind::services || query.kind == Kind::variables;
}

}  // namespace nomad::cluster
