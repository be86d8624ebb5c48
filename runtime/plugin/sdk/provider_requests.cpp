#include "runtime/plugin/sdk/provider_requests.hpp"

#include "runtime/plugin/sdk/caught.hpp"
#include "runtime/plugin/sdk/replies.hpp"

namespace nomad::plugin {
namespace {

using schema::plugin::Frame;

std::vector<Service> read_services(schema::plugin::RegisterServices::Reader order) {
  std::vector<Service> made;
  for (const auto from : order.getServices()) {
    auto& to = made.emplace_back(Service{.id = copy(from.getId()),
                                         .name = copy(from.getServiceName()),
                                         .address = copy(from.getAddress()),
                                         .port = from.getPort(),
                                         .job_namespace = copy(from.getNamespace()),
                                         .job_id = copy(from.getJobId()),
                                         .alloc_id = copy(from.getAllocId()),
                                         .task = copy(order.getTask()),
                                         .node_id = copy(from.getNodeId()),
                                         .datacenter = copy(from.getDatacenter())});
    for (const auto tag : from.getTags())
      to.tags.push_back(copy(tag));
  }
  return made;
}

std::vector<ServiceCheck> read_checks(schema::plugin::ChecksChanged::Reader change) {
  using Status = schema::plugin::ChecksChanged::Check::Status;
  std::vector<ServiceCheck> made;
  for (const auto from : change.getChecks())
    made.push_back({.task = copy(from.getTask()),
                    .service = copy(from.getService()),
                    .name = copy(from.getName()),
                    .status = from.getStatus() == Status::PASSING   ? ServiceCheck::Status::passing
                              : from.getStatus() == Status::FAILING ? ServiceCheck::Status::failing
                                                                    : ServiceCheck::Status::pending,
                    .output = copy(from.getOutput())});
  return made;
}

}  // namespace

ServiceProvider* ProviderRequests::find(std::string_view name) {
  if (const auto known = made_.find(name); known != made_.end()) return known->second.get();
  for (const auto& each : plugin_.service_providers) {
    if (each.spec.name != name) continue;
    auto provider = each.factory(agent_);
    return provider ? (made_[each.spec.name] = std::move(provider)).get() : nullptr;
  }
  return nullptr;
}

void ProviderRequests::ask(std::uint64_t number,
                           std::string_view name,
                           const std::function<void(ServiceProvider&, const DoneReply&)>& what) {
  const auto reply = done_reply(wire_, number, "the provider of services");
  const auto thrown = caught([&] {
    auto* const provider = find(name);
    if (provider == nullptr)
      return reply(Error{Errc::not_found, "the plugin has no such provider of services"});
    what(*provider, reply);
  });
  if (thrown) reply(*thrown);
}

void ProviderRequests::take(Frame::Reader frame) {
  const auto number = frame.getNumber();
  if (frame.isRegisterServices()) {
    const auto order = frame.getRegisterServices();
    return ask(number, view(order.getProvider()), [&order](auto& provider, const auto& reply) {
      provider.register_services(read_services(order), reply);
    });
  }
  if (frame.isDeregisterServices()) {
    const auto order = frame.getDeregisterServices();
    return ask(number, view(order.getProvider()), [&order](auto& provider, const auto& reply) {
      std::vector<std::string> ids;
      for (const auto id : order.getIds())
        ids.push_back(copy(id));
      provider.deregister_services(ids, reply);
    });
  }
  const auto change = frame.getChecksChanged();
  const auto thrown = caught([&] {
    if (auto* const provider = find(view(change.getProvider())))
      provider->checks_changed(copy(change.getAllocId()), read_checks(change));
  });
  if (thrown) agent_.log(Level::error, "a provider was told of checks: " + thrown->what);
}

}  // namespace nomad::plugin
