#include "actors/client/node/machine.hpp"

#include <utility>

#include "actors/client/fingerprint/node_builder.hpp"
#include "runtime/base/log.hpp"

namespace nomad::client {
namespace {

constexpr std::chrono::seconds look_patience{50};

}  // namespace

host::FingerprintOptions looked_at(const ClientOptions& options) {
  auto wanted = options.fingerprint;
  wanted.alloc_dir = options.alloc_dir;
  return wanted;
}

std::vector<host::NamedFingerprinter> allowed_fingerprinters(const ClientOptions& options,
                                                             const PluginCatalog& plugins) {
  std::vector<host::NamedFingerprinter> allowed;
  for (const auto& each : plugins.fingerprinters)
    if (is_allowed(options, "fingerprint", each.name)) allowed.push_back(each);
  return allowed;
}

void Machine::look(const ClientOptions& options,
                   const PluginCatalog& plugins,
                   std::function<void(const Result<>&)> then) {
  const auto wanted = looked_at(options);
  const auto selected = allowed_fingerprinters(options, plugins);
  if (!is_known() && parts_.first_look) {
    found(wanted, selected, *parts_.first_look);
    return then({});
  }
  const auto run = [wanted, selected] { return host::run_each(wanted, selected); };
  self_->request(parts_.steps, look_patience, blocking::make(run))
      .then(
          [this, wanted, selected, then](blocking::Outcome& outcome) {
            found(wanted, selected, std::move(outcome.as<std::vector<host::NodeFacts>>()));
            then({});
          },
          [then](const Error& err) { then(err); });
}

void Machine::found(host::FingerprintOptions options,
                    std::vector<host::NamedFingerprinter> selected,
                    std::vector<host::NodeFacts> found) {
  options_ = std::move(options);
  selected_ = std::move(selected);
  found_ = std::move(found);
  facts_ = host::together(found_);
  ++round_;
  for (std::size_t position = 0; position < selected_.size(); ++position)
    arm(position);
}

void Machine::arm(std::size_t position) {
  const auto period = selected_[position].period;
  if (period.count() > 0) actor::send_self_after(self_, period, LookDue{round_, position});
}

void Machine::look_again(LookDue due) {
  if (due.round != round_ || parts_.stopping) return;
  const auto run = [options = options_, which = selected_[due.position]] {
    return host::run_one(options, which);
  };
  self_->request(parts_.steps, look_patience, blocking::make(run))
      .then(
          [this, due](blocking::Outcome& outcome) {
            if (due.round == round_) heard(due.position, std::move(outcome.as<host::NodeFacts>()));
          },
          [this, due](const Error& err) {
            if (due.round == round_) heard(due.position, err);
          });
}

/// What cannot be read any more stays as it was last read.
void Machine::heard(std::size_t position, const Result<host::NodeFacts>& found) {
  arm(position);
  if (!found)
    return log::warn("client.fingerprint", "a fingerprint failed",
                     {{"fingerprint", selected_[position].name}, {"error", found.error()}});
  if (found_[position] == *found) return;
  found_[position] = *found;
  facts_ = host::together(found_);
  log::info("client.fingerprint", "a fingerprint has changed",
            {{"fingerprint", selected_[position].name}});
  parts_.changed();
}

}  // namespace nomad::client
