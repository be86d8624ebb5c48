#include "actors/client/node/node_metadata.hpp"

#include <utility>

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

actor::Answer<client_api::NodeMeta> NodeMetadata::read() const {
  if (!is_known_) return Error{Errc::unavailable, "the client is starting"};
  return shown();
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
actor::Answer<client_api::NodeMeta> NodeMetadata::apply(client_api::ApplyMeta& msg) {
  NOMAD_TRY(access::authorize(msg.asking, {}));
  if (!is_known_) return Error{Errc::unavailable, "the client is starting"};
  NOMAD_TRY(workload::check_meta(dynamic_, fixed_, msg.change));
  auto promise = self_->make_response_promise<client_api::NodeMeta>();
  self_->request(parts_.db, actor::infinite, client_db::Save{rows_of(msg.change)})
      .then(
          [this, promise, change = std::move(msg.change)](const client_db::Committed&) mutable {
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
