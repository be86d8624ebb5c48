#include "actors/client/node/node_metadata.hpp"

#include <utility>

#include "runtime/object/entries.hpp"

namespace nomad::client {

void NodeMetadata::take_up(workload::DynamicMeta saved) {
  dynamic_ = std::move(saved);
  is_known_ = true;
}

void NodeMetadata::configure(workload::NodeMeta fixed) {
  fixed_ = std::move(fixed);
  const auto before = std::exchange(dynamic_, workload::pruned_meta(dynamic_, fixed_));
  storage::ClientBatch batch;
  for (const auto& [key, value] : before)
    if (!dynamic_.contains(key)) client_db::erase_meta(batch, key);
  if (!batch.empty()) self_->send(parts_.db, client_db::SaveLater{std::move(batch)});
}

actor::Answer<door::NodeReply> NodeMetadata::answer(const door::NodeAsk& msg) {
  NOMAD_TRY(access::authorize(door::asking(msg), {}));
  if (!is_known_) return Error{Errc::unavailable, "the client is starting"};
  if (!msg->isApplyMeta()) return shown();
  workload::DynamicMeta change;
  for (const auto entry : msg->getApplyMeta()) {
    auto& value = change[copy(entry.getKey())];
    if (!entry.getUnset()) value = copy(entry.getValue());
  }
  return apply(std::move(change));
}

door::NodeReply NodeMetadata::shown() const {
  return door::make_node_reply([this](auto& reply) {
    auto meta = reply.initMeta();
    const auto all = merged();
    fill_entries(meta.initMerged(static_cast<unsigned>(all.size())), all);
    fill_entries(meta.initFixed(static_cast<unsigned>(fixed_.size())), fixed_);
    auto changes = meta.initDynamic(static_cast<unsigned>(dynamic_.size()));
    unsigned next = 0;
    for (const auto& [key, value] : dynamic_) {
      auto entry = changes[next++];
      entry.setKey(text(key));
      entry.setUnset(!value);
      if (value) entry.setValue(text(*value));
    }
  });
}

/// Of the keys of `change` alone, so that changes that are saved at the same time do not undo each
/// other.
storage::ClientBatch NodeMetadata::rows_of(const workload::DynamicMeta& change) const {
  storage::ClientBatch batch;
  for (const auto& [key, value] : change)
    if (value || fixed_.contains(key))
      client_db::put_meta(batch, key, value);
    else
      client_db::erase_meta(batch, key);
  return batch;
}

/// What could not be saved changes nothing: a restart would take it back. What waits for room on
/// the disk counts once it is saved, whether somebody still waits for that or not.
actor::Answer<door::NodeReply> NodeMetadata::apply(workload::DynamicMeta change) {
  NOMAD_TRY(workload::check_meta(dynamic_, fixed_, change));
  auto promise = self_->make_response_promise<door::NodeReply>();
  auto rows = rows_of(change);
  self_->request(parts_.db, actor::infinite, client_db::Save{std::move(rows)})
      .then(
          [this, promise, change = std::move(change)](const client_db::Committed&) mutable {
            dynamic_ = workload::changed_meta(std::move(dynamic_), fixed_, change);
            parts_.changed();
            promise.deliver(shown());
          },
          [promise](const Error& err) mutable {
            promise.deliver(Error{err}.within("failed to save the metadata"));
          });
  return promise;
}

}  // namespace nomad::client
