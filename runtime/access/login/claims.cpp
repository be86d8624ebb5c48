#include "runtime/access/login/claims.hpp"

#include <optional>
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "runtime/base/whole_number.hpp"
#include "runtime/text/json.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::access {

namespace {

Error claims_too_large(std::string_view what) {
  return {Errc::too_large, std::string{what}};
}

/// What JsonReader makes claims by.
class ClaimsMaker {
public:
  using Value = boost::json::value;
  using Array = boost::json::array;
  using Object = boost::json::object;

  explicit ClaimsMaker(std::size_t most) : most_{most} {}

  Result<> begin(int) {
    if (++count_ > most_) return claims_too_large("the JSON has too many values");
    return {};
  }

  Result<> open(int depth) {
    if (depth >= most_claims_depth) return claims_too_large("the JSON is nested too deeply");
    return {};
  }

  Result<Value> number(std::string_view text) {
    std::int64_t whole = 0;
    if (read_whole_number(text, whole)) return Value(whole);
    return Value(NOMAD_TRY(parse_float(text)));
  }

  Result<Value> string(std::string text) { return Value(std::string_view{text}); }

  Result<Value> boolean(bool value) { return Value(value); }

  Result<Value> null() { return Value(nullptr); }

  void add(Array& array, Value value) { array.push_back(std::move(value)); }

  void add(Object& object, const std::string& key, Value value) {
    if (!object.emplace(key, std::move(value)).second) twice_ = key;
  }

  Value finish(Array array) { return Value(std::move(array)); }

  Value finish(Object object) { return Value(std::move(object)); }

  /// A name that an object has more than once.
  const std::optional<std::string>& twice() const { return twice_; }

private:
  std::size_t most_;
  std::size_t count_ = 0;
  std::optional<std::string> twice_;
};

}  // namespace

Result<Claims> read_claims(std::string_view json, std::size_t most) {
  ClaimsMaker maker{most};
  JsonReader<ClaimsMaker, JsonWords::whole> reader{maker, json};
  auto value = NOMAD_TRY(reader.read());
  if (!value.is_object()) return Error{Errc::invalid_argument, "the JSON is not an object"};
  if (maker.twice())
    return Error{Errc::invalid_argument, "the JSON has \"" + *maker.twice() + "\" twice"};
  return std::move(value.as_object());
}

std::string_view text_claim(const Claims& claims, std::string_view name) {
  const auto* found = claims.if_contains({name.data(), name.size()});
  if (found == nullptr || !found->is_string()) return {};
  return {found->as_string().data(), found->as_string().size()};
}

}  // namespace nomad::access
