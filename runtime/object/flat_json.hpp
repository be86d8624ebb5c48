// A JSON text, read once and laid out flat: its values in the order of the text, each with the
// number of values that belong to it. What decodes it into an object knows so how long a list will
// be before its first element, which Cap'n Proto wants, without a tree of allocations.
//
// Text without escapes is not copied: it refers to what was read, which must outlive this.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "runtime/base/result.hpp"

namespace nomad {

enum class JsonKind : std::uint8_t { null, boolean, integer, natural, real, text, array, object };

/// One value, followed by those in it. Valid as long as its FlatJson.
struct JsonNode {
  JsonKind kind = JsonKind::null;
  std::uint32_t extent = 1;  ///< Nodes of this value: itself and those in it.
  std::uint32_t size = 0;    ///< Elements, members, or bytes of text.

  union {
    bool boolean;
    std::int64_t integer;   ///< A whole number of 64 bits.
    std::uint64_t natural;  ///< A whole number too large for that.
    double real;
    const char* bytes;
  };

  JsonNode() : integer{0} {}

  bool is(JsonKind wanted) const { return kind == wanted; }

  bool is_number() const {
    return kind == JsonKind::integer || kind == JsonKind::natural || kind == JsonKind::real;
  }

  /// A whole number that `T` has room for, however it is written: 5, 5.0, 5e0.
  template <class T>
  std::optional<T> whole() const {
    if (kind == JsonKind::integer && std::in_range<T>(integer)) return static_cast<T>(integer);
    if (kind == JsonKind::natural && std::in_range<T>(natural)) return static_cast<T>(natural);
    constexpr int digits = std::numeric_limits<T>::digits;
    constexpr double limit = 2.0 * static_cast<double>(std::uint64_t{1} << (digits - 1));
    if (kind == JsonKind::real && real >= static_cast<double>(std::numeric_limits<T>::min())
        && real < limit && std::trunc(real) == real)
      return static_cast<T>(real);
    return std::nullopt;
  }

  /// Of a text; "" of anything else.
  std::string_view text() const {
    return kind == JsonKind::text ? std::string_view{bytes, size} : std::string_view{};
  }

  const JsonNode* after() const { return this + extent; }

  /// Walks over values beside each other.
  struct Iterator {
    const JsonNode* at;

    const JsonNode& operator*() const { return *at; }

    Iterator& operator++() {
      at = at->after();
      return *this;
    }

    bool operator==(const Iterator&) const = default;
  };

  struct Elements {
    const JsonNode* of;

    Iterator begin() const { return {of + 1}; }

    Iterator end() const { return {of->after()}; }
  };

  struct Member {
    std::string_view key;
    const JsonNode& value;
  };

  struct MemberIterator {
    const JsonNode* at;

    Member operator*() const { return {at->text(), at[1]}; }

    MemberIterator& operator++() {
      at = at[1].after();
      return *this;
    }

    bool operator==(const MemberIterator&) const = default;
  };

  struct Members {
    const JsonNode* of;

    MemberIterator begin() const { return {of + 1}; }

    MemberIterator end() const { return {of->after()}; }
  };

  /// Of an array.
  Elements elements() const { return {this}; }

  /// Of an object, in the order of the text, those of the same name each.
  Members members() const { return {this}; }
};

/// Where a text stopped being JSON, and why.
struct JsonStop {
  enum class Why : std::uint8_t { incomplete, syntax, text_behind, other };

  std::size_t byte = 0;
  Why why = Why::other;
};

class FlatJson {
public:
  /// Deeper texts are refused.
  static constexpr std::size_t request_depth = 64;

  /// Reads `text`, which must outlive the result. The errors are those of `parse_json`.
  /// `memory` must outlive the result, too; all that is kept of the text is in it. `stop` is set on
  /// an error.
  static Result<FlatJson> read(std::string_view text,
                               std::size_t max_depth = request_depth,
                               std::pmr::memory_resource* memory = std::pmr::get_default_resource(),
                               JsonStop* stop = nullptr);

  /// Lays out a tree, which must outlive the result.
  static FlatJson of(const boost::json::object& tree);

  FlatJson(FlatJson&&) = default;

  const JsonNode& root() const { return nodes_.front(); }

private:
  struct Handler;

  void add(const boost::json::value& value);
  void add(const boost::json::object& object);
  void add_text(std::string_view text);

  explicit FlatJson(std::pmr::memory_resource* memory) : nodes_{memory}, unescaped_{memory} {}

  std::pmr::vector<JsonNode> nodes_;
  std::pmr::deque<std::pmr::string> unescaped_;  // stay where they are
};

/// The keys of an object in the order of their bytes, each followed by its value; of members of one
/// name the last.
std::vector<const JsonNode*> sorted_keys(const JsonNode& object);

/// Appends `node` to `out` as JSON without white space, the members of objects sorted by name, so
/// that equal values are equal texts.
void append_sorted_json(std::string& out, const JsonNode& node);

/// What Go's errors call a value: "number", "object".
std::string_view go_kind(const JsonNode& node);

}  // namespace nomad
