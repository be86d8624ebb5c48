#include "actors/plugin/provided_services.hpp"

#include <utility>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"

namespace nomad::plugin {

namespace {

using client::service_provider::ChecksChanged;
using client::service_provider::Deregister;
using client::service_provider::Done;
using client::service_provider::Register;
using ProviderAnswer = schema::plugin::Frame::Reader;
using ProviderQuestion = schema::plugin::Frame::Builder;

Questions::Then delivers(const ProviderDone& promise) {
  return [promise](ProviderAnswer frame) {
    if (frame.isDone())
      promise.deliver(Done{});
    else
      promise.deliver(Error{Errc::rejected, "it answered something else than that it is done"});
  };
}

schema::plugin::ChecksChanged::Check::Status status_of(workload::CheckStatus status) {
  using Status = schema::plugin::ChecksChanged::Check::Status;
  switch (status) {
    case workload::CheckStatus::success:
      return Status::PASSING;
    case workload::CheckStatus::failure:
      return Status::FAILING;
    default:
      return Status::PENDING;
  }
}

Error provider_is_taken(std::string_view name) {
  return {Errc::conflict, fmt::format("there is a provider of services \"{}\" already", name)};
}

}  // namespace

Result<> enter_providers(const std::shared_ptr<client::ServiceProviders>& providers,
                         schema::plugin::Declaration::Reader declaration,
                         const client::ServiceProvider& provider) {
  if (!providers) return {};
  const auto plugin = copy(declaration.getName());
  for (const auto each : declaration.getServiceProviders()) {
    if (providers->enter(
            copy(each.getName()),
            {.plugin = plugin, .provider = provider, .hears_checks = each.getHearsChecks()}))
      continue;
    providers->forget(plugin);
    return provider_is_taken(view(each.getName()));
  }
  return {};
}

Result<> check_providers(const std::shared_ptr<client::ServiceProviders>& providers,
                         schema::plugin::Declaration::Reader declaration) {
  if (!providers) return {};
  for (const auto each : declaration.getServiceProviders())
    if (const auto known = providers->find(view(each.getName()));
        known && known->plugin != view(declaration.getName()))
      return provider_is_taken(view(each.getName()));
  return {};
}

void ask_to_register(Questions& questions, const Register& order, const ProviderDone& promise) {
  questions.ask(
      [&order](ProviderQuestion frame) {
        auto to = frame.initRegisterServices();
        to.setProvider(text(order.provider));
        to.setAllocId(text(order.alloc_id));
        to.setTask(text(order.task));
        auto services = to.initServices(static_cast<unsigned>(order.services.size()));
        for (unsigned i = 0; i < services.size(); ++i)
          services.setWithCaveats(i, *order.services[i]);
      },
      delivers(promise), [promise](const Error& err) { promise.deliver(err); });
}

void ask_to_deregister(Questions& questions, const Deregister& order, const ProviderDone& promise) {
  questions.ask(
      [&order](ProviderQuestion frame) {
        auto to = frame.initDeregisterServices();
        to.setProvider(text(order.provider));
        to.setAllocId(text(order.alloc_id));
        auto ids = to.initIds(static_cast<unsigned>(order.ids.size()));
        for (unsigned i = 0; i < ids.size(); ++i)
          ids.set(i, text(order.ids[i]));
      },
      delivers(promise), [promise](const Error& err) { promise.deliver(err); });
}

void tell_of_checks(const Questions& questions, const ChecksChanged& change) {
  questions.send([&change](ProviderQuestion frame) {
    auto to = frame.initChecksChanged();
    to.setProvider(text(change.provider));
    to.setAllocId(text(change.alloc_id));
    auto checks = to.initChecks(static_cast<unsigned>(change.checks.size()));
    for (unsigned i = 0; i < checks.size(); ++i) {
      checks[i].setTask(text(change.checks[i].task));
      checks[i].setService(text(change.checks[i].service));
      checks[i].setName(text(change.checks[i].name));
      checks[i].setStatus(status_of(change.checks[i].status));
      checks[i].setOutput(text(change.checks[i].output));
    }
  });
}

}  // namespace nomad::plugin
