// ClientStore: what a client agent must remember over a restart, in one SQLite file: allocations,
// task states, driver handles, acknowledged sync states, its node id and secret. Keys and values
// are opaque here; each value carries a 64-bit checksum, and one row the number of commits and the
// sum of all checksums, so that a missing row is seen, too. How many commits there must at least be
// says the mark beside the file (`<file>.mark`, mark_file.hpp).
//
// One thread at a time (give it to one detached actor). Every change is durable when `commit`
// returns.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::storage {

class Database;
class Statement;

/// The parts of the store. Stored as numbers: never renumber. 0 is the store's own.
enum class Bucket : std::uint8_t {
  meta = 1,           ///< node id, secret, dynamic node metadata.
  alloc = 2,          ///< key: alloc id; the allocation as the server sent it.
  task_state = 3,     ///< key: alloc id/task; local and reported task state.
  driver_handle = 4,  ///< key: alloc id/task; what reattaches to the running task.
  intent = 5,         ///< key: alloc id/task; written before a task is started.
  acknowledged = 6,   ///< key: alloc id; the sync state that a server has accepted.
  deployment = 7,     ///< key: alloc id; local deployment health.
  network = 8,        ///< key: alloc id; network status of the allocation.
  driver_state = 9,   ///< key: driver or plugin name.
  job = 10,           ///< key: namespace, id, create index, version; jobs of allocations.
  owed = 11,          ///< key: alloc id/provider/service id; what is still to be deregistered.
  csi_volume = 12,    ///< key: alloc id/volume id; what may be mounted of it, or claimed.
  csi_plugin = 13,    ///< key: alloc id/task; a plugin that is registered.
};

/// Changes that become durable together.
class ClientBatch {
public:
  void put(Bucket bucket, std::string key, std::string value);
  void erase(Bucket bucket, std::string key);

  /// Erases every key of `bucket` that starts with `prefix`.
  void erase_prefix(Bucket bucket, std::string prefix);

  /// Adds the changes of `more` behind these, so that several batches become durable at once.
  void append(ClientBatch more) {
    changes_.insert(changes_.end(), std::make_move_iterator(more.changes_.begin()),
                    std::make_move_iterator(more.changes_.end()));
  }

  bool empty() const { return changes_.empty(); }

  /// Forgets changes that later ones make pointless, so that a batch that waits long is bounded by
  /// the rows it is about.
  void drop_overwritten();

  std::size_t size() const { return changes_.size(); }

private:
  friend class ClientStore;

  enum class Action : std::uint8_t { put, erase, erase_prefix };

  struct Change {
    Action action;
    Bucket bucket;
    std::string key;
    std::string value;
  };

  std::vector<Change> changes_;
};

class ClientStore {
public:
  /// Opens or creates the file, and reads it once. Errors name the file: `corrupt` when it is no
  /// database of ours, or lacks anything that was committed; `rejected` when it is of a newer
  /// release; `io` when the system refuses.
  static Result<ClientStore> open(const std::string& path);

  ClientStore(ClientStore&&) noexcept;
  ClientStore& operator=(ClientStore&&) noexcept;
  ~ClientStore();

  /// All changes or, on an error, none. `overloaded`: the disk is full.
  Result<> commit(const ClientBatch& batch);

  /// Empty when there is no such key; `corrupt` when its checksum fails.
  Result<std::optional<std::string>> get(Bucket bucket, std::string_view key);

  /// Calls `row` for each key of `bucket` starting with `prefix`, in key order. A row with a failed
  /// checksum is reported by `row` with an error, so that one bad row does not hide the others.
  using Row = std::function<Result<>(std::string_view key, Result<std::string_view> value)>;
  Result<> scan(Bucket bucket, std::string_view prefix, const Row& row);

private:
  struct Parts;
  explicit ClientStore(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nomad::storage
