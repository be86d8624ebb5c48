// IndexedRows<V>: an index that holds keys alone, read together with the rows of the table that
// its keys name.
//
// An index that held the rows as well would have to be written whenever one of them changes, and
// each writing copies a path of its tree. One of keys changes with the keys, which for most changes
// of a row stay as they are; a reader pays with a look-up by id for each row that it takes: in
// test/bench/state_bench some 1.3 µs, where walking to a row that the index holds costs 0.1 to 0.4.
//
// A view: it and its cursors are valid as long as both maps. Each key names a row that is there.
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/state/map/persistent_map.hpp"

namespace nomad::state {

template <MapValue V>
class IndexedRows {
  using Keys = PersistentMap<Nothing>;

public:
  using Rows = PersistentMap<V>;
  /// The part of an index's key under which the table has the row.
  using RowKey = std::string_view (*)(std::string_view key);

  class Cursor {
  public:
    Cursor() = default;

    bool valid() const { return at_.valid(); }

    explicit operator bool() const { return valid(); }

    /// The index's key. The view is valid until the cursor moves or dies.
    std::string_view key() const { return at_.key(); }

    bool key_begins_with(std::string_view text) const { return at_.key_begins_with(text); }

    const V& value() const {
      if (row_ == nullptr) row_ = rows_->find(row_key_(at_.key()));
      return *row_;
    }

    void next() {
      at_.next();
      row_ = nullptr;
    }

    void previous() {
      at_.previous();
      row_ = nullptr;
    }

    friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

  private:
    friend class IndexedRows;

    Cursor(Keys::Cursor at, const IndexedRows& index)
        : at_{std::move(at)}, rows_{index.rows_}, row_key_{index.row_key_} {}

    Keys::Cursor at_;
    const Rows* rows_ = nullptr;
    RowKey row_key_ = nullptr;
    mutable const V* row_ = nullptr;  ///< Once it was looked up.
  };

  using Range = CursorRange<Cursor>;

  IndexedRows(const Keys& keys, const Rows& rows, RowKey row_key)
      : keys_{&keys}, rows_{&rows}, row_key_{row_key} {}

  std::size_t size() const { return keys_->size(); }

  Cursor last() const { return {keys_->last(), *this}; }

  Cursor lower_bound(std::string_view key) const { return {keys_->lower_bound(key), *this}; }

  Cursor before(std::string_view key) const { return {keys_->before(key), *this}; }

  Range all() const { return {{keys_->first(), *this}, {}}; }

  Range prefix(std::string_view prefix) const { return with_rows(keys_->prefix(prefix)); }

  Range range(std::string_view from, std::string_view to) const {
    return with_rows(keys_->range(from, to));
  }

private:
  Range with_rows(const Keys::Range& range) const {
    return {{range.first(), *this}, {range.end(), *this}};
  }

  const Keys* keys_;
  const Rows* rows_;
  RowKey row_key_;
};

}  // namespace nomad::state
