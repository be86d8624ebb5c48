#include "runtime/cluster/service_commands.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runtime/base/ids.hpp"
#include "runtime/base/text.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::cluster {
namespace {

using Registration = Object<schema::ServiceRegistration>;

constexpr std::size_t longest_id = 1'024;
constexpr std::size_t longest_address = 255;  // a DNS name's

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; });
}

bool is_id_of(std::string_view id, std::string_view alloc_id) {
  const auto prefix = fmt::format("_nomad-task-{}-", alloc_id);
  return !alloc_id.empty() && id.starts_with(prefix) && id.size() <= longest_id
         && std::none_of(id.begin(), id.end(),
                         [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

Error refuse(Errc code, schema::ServiceRegistration::Reader service, std::string_view why) {
  return {code,
          fmt::format("service {} of allocation {}: {}", quote(view(service.getServiceName())),
                      quote(view(service.getAllocId())), why)};
}

Result<> check_form(schema::ServiceRegistration::Reader service) {
  const auto refused = [&](std::string_view why) { return refuse(Errc::rejected, service, why); };
  if (!is_dns_label(view(service.getServiceName())))
    return refused("a name has letters, digits and inner dashes, 63 at most; rename it");
  if (!is_id_of(view(service.getId()), view(service.getAllocId())))
    return refused(
        fmt::format("{} is no id of a service of this allocation", quote(view(service.getId()))));
  if (service.getPort() < 0 || service.getPort() > 65535)
    return refused(fmt::format("{} is no port; give one of 1 to 65535", service.getPort()));
  const auto address = view(service.getAddress());
  if (address.size() > longest_address || !is_plain(address))
    return refused(fmt::format("{} is no address", quote(address)));
  return {};
}

Result<Object<schema::Node>> find_node(const state::Snapshot& snapshot, std::string_view id) {
  auto node = snapshot.node(id);
  if (!node) return Error{Errc::not_found, fmt::format("node {} not found", quote(id))};
  return node;
}

/// The node's allocation that the registration is of, if it may have services.
Result<state::AllocRef> find_owner(const state::Snapshot& snapshot,
                                   std::string_view node_id,
                                   schema::ServiceRegistration::Reader service) {
  auto row = snapshot.alloc(view(service.getAllocId()));
  if (!row) return refuse(Errc::not_found, service, "there is no such allocation");
  if (row->alloc->node_id() != node_id)
    return refuse(Errc::permission_denied, service, "the allocation is another node's");
  if (row->terminal())
    return refuse(Errc::conflict, service, "the allocation is to stop, or has ended");
  return row;
}

Registration whole_row(schema::ServiceRegistration::Reader said,
                       const state::AllocRef& owner,
                       schema::Node::Reader node) {
  Draft<schema::ServiceRegistration> row{said};
  row->setNamespace(text(owner->alloc->ns()));
  row->setJobId(text(owner->alloc->job_id()));
  row->setNodeId(node.getId());
  row->setDatacenter(node.getDatacenter());
  row->setCreateIndex(0);
  row->setModifyIndex(0);
  return row.freeze();
}

Result<> check_size(const std::vector<Registration>& services) {
  std::size_t bytes = 0;
  for (const auto& service : services)
    bytes += service.bytes().size();
  if (services.size() <= most_services && bytes <= most_service_bytes) return {};
  return Error{Errc::too_large,
               fmt::format("{} services of {} bytes are registered at once; {} of {} bytes may be: "
                           "give them fewer or shorter tags",
                           services.size(), bytes, most_services, most_service_bytes)};
}

/// What goes of an allocation.
struct Going {
  std::string ns;
  bool all = false;
  std::set<std::string> ids = {};
};

/// What is to come by allocation and id, and what is to go before.
struct Net {
  std::map<std::pair<std::string, std::string>, Registration> registered;
  std::map<std::string, Going> gone;

  void add(const ServiceChange& change);
  Object<schema::Command> command() const;
};

void Net::add(const ServiceChange& change) {
  if (!change.alloc_id.empty()) {
    auto& going = gone[change.alloc_id];
    going.ns = change.ns;
    if (change.gone_ids.empty()) {
      going.all = true;
      std::erase_if(registered,
                    [&](const auto& entry) { return entry.first.first == change.alloc_id; });
    }
    for (const auto& id : change.gone_ids) {
      going.ids.insert(id);
      registered.erase({change.alloc_id, id});
    }
  }
  for (const auto& row : change.registered)
    registered.insert_or_assign({copy(row->getAllocId()), copy(row->getId())}, row);
}

Object<schema::Command> Net::command() const {
  Draft<schema::Command> draft;
  auto command = draft->initNodeServices();
  auto gone_list = command.initGone(static_cast<unsigned>(gone.size()));
  unsigned position = 0;
  for (const auto& [alloc_id, going] : gone) {
    auto one = gone_list[position++];
    one.setNamespace(text(going.ns));
    one.setAllocId(text(alloc_id));
    if (going.all) continue;
    auto ids = one.initIds(static_cast<unsigned>(going.ids.size()));
    unsigned number = 0;
    for (const auto& id : going.ids)
      ids.set(number++, text(id));
  }
  auto rows = command.initRegistered(static_cast<unsigned>(registered.size()));
  position = 0;
  for (const auto& [key, row] : registered)
    rows.setWithCaveats(position++, *row);
  return draft.freeze();
}

}  // namespace

std::size_t ServiceChange::bytes() const {
  std::size_t sum = 128;
  for (const auto& id : gone_ids)
    sum += id.size() + 16;
  for (const auto& row : registered)
    sum += row.bytes().size();
  return sum;
}

Result<ServiceChange> check_registrations(const state::Snapshot& snapshot,
                                          std::string_view node_id,
                                          const std::vector<Registration>& services) {
  const auto node = NOMAD_TRY(find_node(snapshot, node_id));
  if (is_given_up(node->getStatus()))
    return Error{Errc::conflict,
                 fmt::format("node {} is not allowed to register services before it has sent a "
                             "heartbeat: it is down or disconnected",
                             quote(node_id))};
  NOMAD_TRY(check_size(services));
  ServiceChange change;
  for (const auto& service : services) {
    NOMAD_TRY(check_form(*service));
    const auto owner = NOMAD_TRY(find_owner(snapshot, node_id, *service));
    change.registered.push_back(whole_row(*service, owner, *node));
  }
  return change;
}

Result<ServiceChange> check_deregistration(const state::Snapshot& snapshot,
                                           std::string_view node_id,
                                           std::string_view alloc_id,
                                           const std::vector<std::string>& ids) {
  NOMAD_TRY(find_node(snapshot, node_id));
  const auto row = snapshot.alloc(alloc_id);
  if (!row) return ServiceChange{};
  if (row->alloc->node_id() != node_id)
    return Error{Errc::permission_denied,
                 fmt::format("allocation {} is another node's", quote(alloc_id))};
  if (ids.size() > most_services)
    return Error{Errc::too_large, fmt::format("{} services are removed at once; {} may be",
                                              ids.size(), most_services)};
  for (const auto& id : ids)
    if (!is_id_of(id, alloc_id))
      return Error{Errc::rejected, fmt::format("{} is no id of a service of allocation {}",
                                               quote(id), quote(alloc_id))};
  return ServiceChange{
      .ns = std::string{row->alloc->ns()}, .alloc_id = std::string{alloc_id}, .gone_ids = ids};
}

Object<schema::Command> decide_service_changes(const std::vector<ServiceChange>& changes) {
  Net net;
  for (const auto& change : changes)
    net.add(change);
  return net.command();
}

Result<ServiceDecision> decide_service_delete(const state::Snapshot& snapshot,
                                              const access::Asking& asking,
                                              std::string_view ns,
                                              std::string_view name,
                                              std::string_view id) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {.ns = ns}));
  const auto stored = snapshot.service(ns, id);
  if (!stored || view(stored->getServiceName()) != name)
    return Error{Errc::not_found, "service registration not found"};
  Draft<schema::Command> draft;
  auto key = draft->initServiceDelete().initKeys(1)[0];
  key.setNamespace(text(ns));
  key.setId(text(id));
  return ServiceDecision{allowed, draft.freeze()};
}

}  // namespace nomad::cluster
