// One page of a list: a walk over an ordered table in either direction, what the filter keeps of
// it, and the token of the row that did not fit.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "actors/api/http/blocking_read.hpp"
#include "runtime/query/filter.hpp"
#include "runtime/query/page.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::api {

/// The compiled `filter` parameter, and what its request has taken for it.
struct CountedFilter {
  explicit CountedFilter(query::Filter compiled) : filter{std::move(compiled)} {}

  /// What one request may take for all rows, however often they are looked at while it waits.
  static constexpr std::uint64_t request_work = std::uint64_t{16} << 30U;

  const query::Filter filter;
  mutable std::atomic<std::uint64_t> used = 0;
};

/// Empty when there is none.
using RowFilter = std::shared_ptr<const CountedFilter>;

/// The error is Nomad's, with status 400.
inline Result<RowFilter> compile_filter(const ReadOptions& options) {
  if (options.filter.empty()) return RowFilter{};
  auto filter = query::Filter::compile(options.filter);
  if (!filter)
    return filter.error()
        .within("failed to read filter expression")
        .within("failed to create result paginator");
  return std::make_shared<const CountedFilter>(std::move(*filter));
}

template <class T>
Result<bool> keeps(const RowFilter& filter,
                   const Object<T>& row,
                   std::span<const query::Filter::Extra> extras = {}) {
  if (!filter) return true;
  const auto used = std::min(filter->used.load(), CountedFilter::request_work);
  Work work{std::min(query::Filter::row_work, CountedFilter::request_work - used)};
  auto kept = filter->filter.matches(row, extras, work);
  filter->used += work.used();
  return std::move(kept).within("failed to read result page");
}

/// For `token`: the key itself.
inline constexpr auto key_as_token
    = [](std::string_view key, const auto&) { return std::string{key}; };

/// The text of one page's JSON array, which goes out in pieces while it is made where that may be:
/// where no filter can fail any more and no token follows.
class PageText {
public:
  PageText(const ReadOptions& options, EarlyBody* early)
      : early_{options.filter.empty() && options.per_page <= 0 ? early : nullptr} {}

  std::string& text() { return text_; }

  /// Between two rows. False: nobody wants the rest.
  bool go_on() {
    if (early_ == nullptr || text_.size() < piece_bytes) return true;
    const bool is_wanted = early_->send(std::exchange(text_, {}));
    text_.reserve(piece_bytes + piece_bytes / 8);  // a row begins below the bound
    return is_wanted;
  }

private:
  /// Large enough that waking the connection's thread costs little of making it.
  static constexpr std::size_t piece_bytes = 128 * 1024;

  EarlyBody* const early_;
  std::string text_ = "[";
};

/// Makes the JSON array of one page of what the caller may see. `keep(value)` says whether a row
/// counts (Result<bool>), `token(key, value)` names it, `append(out, value)` writes it. `early` as
/// in Read::list.
template <class Map, class Keep, class Token, class Append>
Answer list_page(const View& state,
                 Rows<Map> rows,
                 const Walk& walk,
                 const ReadOptions& options,
                 Keep keep,
                 Token token,
                 Append append,
                 EarlyBody* early = nullptr) {
  query::Page page{options.per_page};
  PageText whole{options, early};
  std::optional<Error> failure;
  state.walk(rows, walk, [&](const auto& cursor) {
    const Result<bool> kept = keep(cursor.value());
    if (!kept) failure = kept.error();
    if (failure || !*kept) return !failure;
    if (page.is_full()) {
      page.end_at(token(cursor.key(), cursor.value()));
      return false;
    }
    auto& out = whole.text();
    if (page.count() != 0) out += ',';
    const auto begin = out.size();
    append(out, cursor.value());
    options.fields.keep(out, begin);
    page.add();
    return whole.go_on();
  });
  if (failure) return Answer::error(*failure);
  whole.text() += ']';
  Answer answer = Answer::json(std::move(whole.text()));
  answer.next_token = page.next_token();
  return answer;
}

/// The walk of a list in the order of creation: by create index and id, or, with a prefix, by id.
Walk walk_by_create(const ReadOptions& options);

/// The page of a list in the order of creation; with a prefix by id.
template <class ById, class ByCreate, class Keep, class Append>
Answer list_by_create(const View& state,
                      Rows<ById> by_id,
                      Rows<ByCreate> by_create,
                      const ReadOptions& options,
                      Keep keep,
                      Append append,
                      EarlyBody* early = nullptr) {
  const Walk walk = walk_by_create(options);
  if (!options.prefix.empty())
    return list_page(state, by_id, walk, options, keep, key_as_token, append, early);
  const auto token = [](std::string_view, const auto& row) {
    const auto object = object_of(row).reader();
    return query::CreateToken::make(object.getCreateIndex(), view(object.getId()));
  };
  return list_page(state, by_create, walk, options, keep, token, append, early);
}

/// The page of a list in the order of its keys.
template <class Map, class Keep, class Append>
Answer list_by_key(const View& state,
                   Rows<Map> rows,
                   const ReadOptions& options,
                   Keep keep,
                   Append append,
                   EarlyBody* early = nullptr) {
  return list_page(state, rows, Walk{.prefix = options.prefix, .start = options.next_token},
                   options, keep, key_as_token, append, early);
}

/// For `append`: the whole object.
inline constexpr auto append_whole
    = [](std::string& out, const auto& row) { append_json(out, row); };

/// For `keep`: every row.
inline constexpr auto keep_all = [](const auto&) -> Result<bool> { return true; };

/// The walk of a list by namespace and id, from a token "<namespace>.<id>".
Walk walk_by_name(const ReadOptions& options);

}  // namespace nomad::api
