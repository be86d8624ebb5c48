#include "actors/plugin/job_schedulers.hpp"

#include <fmt/format.h>

#include "runtime/object/draft.hpp"

namespace nomad::plugin {
namespace {

Error type_is_taken(std::string_view type) {
  return {Errc::conflict, fmt::format("there is a scheduler of jobs of type \"{}\" already", type)};
}

}  // namespace

Result<> enter_types(const std::shared_ptr<server::JobTypes>& types,
                     schema::plugin::Declaration::Reader declaration,
                     const server::Decider& decider) {
  if (!types) return {};
  const auto plugin = copy(declaration.getName());
  for (const auto each : declaration.getSchedulers()) {
    server::JobTypes::Entry entry{.plugin = plugin, .decider = decider};
    for (const auto target : each.getReads())
      entry.reads.push_back(copy(target));
    if (types->enter(copy(each.getType()), std::move(entry))) continue;
    types->forget(plugin);
    return type_is_taken(view(each.getType()));
  }
  return {};
}

Result<> check_types(const std::shared_ptr<server::JobTypes>& types,
                     schema::plugin::Declaration::Reader declaration) {
  if (!types) return {};
  for (const auto each : declaration.getSchedulers())
    if (const auto known = types->find(view(each.getType()));
        known && known->plugin != view(declaration.getName()))
      return type_is_taken(view(each.getType()));
  return {};
}

void ask_decision(Questions& questions,
                  const server::decider::Decide& question,
                  const actor::Promise<server::decider::Decided>& promise) {
  questions.ask(
      [&](schema::plugin::Frame::Builder frame) { frame.setDecide(*question.question); },
      [promise](schema::plugin::Frame::Reader frame) {
        if (frame.isDecision())
          promise.deliver(server::decider::Decided{
              Object<schema::plugin::Decision>::freeze(frame.getDecision())});
        else
          promise.deliver(Error{Errc::rejected, "it answered something else than a decision"});
      },
      [promise](const Error& err) { promise.deliver(err); });
}

}  // namespace nomad::plugin
