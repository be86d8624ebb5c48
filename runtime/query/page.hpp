// Pages of lists: the tokens that name the first row of the next page, and the collecting of one
// page from an ordered walk. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nomad::query {

/// Of lists in the order of creation: "17.<id>".
struct CreateToken {
  std::uint64_t create_index = 0;
  std::string id;

  static std::string make(std::uint64_t create_index, std::string_view id);

  /// Nothing when `token` is something else.
  static std::optional<CreateToken> parse(std::string_view token);
};

/// Of lists by namespace and name: "<namespace>.<id>".
struct NameToken {
  std::string ns;
  std::string id;

  static std::string make(std::string_view ns, std::string_view id);

  /// A token without a dot is a namespace.
  static NameToken parse(std::string_view token);
};

/// Counts rows up to a page's size. The walk asks `is_full()` before it takes a row, and hands the
/// token of the first row that did not fit to `end_at`.
class Page {
public:
  /// `per_page` 0: everything is one page.
  explicit Page(std::int32_t per_page) : limit_{per_page > 0 ? per_page : 0} {}

  bool is_full() const { return limit_ != 0 && count_ == static_cast<std::size_t>(limit_); }

  void add() { ++count_; }

  std::size_t count() const { return count_; }

  void end_at(std::string token) { next_token_ = std::move(token); }

  /// "" on the last page.
  const std::string& next_token() const { return next_token_; }

private:
  std::int32_t limit_;
  std::size_t count_ = 0;
  std::string next_token_;
};

}  // namespace nomad::query
