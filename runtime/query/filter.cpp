#include "runtime/query/filter.hpp"

#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "runtime/query/filter_parser.hpp"
#include "runtime/query/filter_value.hpp"
#include "runtime/text/number_text.hpp"
#include "runtime/text/regex.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::query {
namespace {

using Patterns = std::map<const Expression*, Result<Regex>>;

constexpr std::int64_t regex_memory = 1 << 20;
/// What compiling all patterns of a filter may take.
constexpr std::uint64_t compile_work = std::uint64_t{1} << 26U;

Error refuse(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

/// What an operator says of a map's key that is not there.
bool if_absent(MatchOp op) {
  return op == MatchOp::not_equal || op == MatchOp::not_in || op == MatchOp::is_empty
         || op == MatchOp::not_matches;
}

template <class T>
Result<bool> compare(const Result<T>& wanted, const T& actual) {
  if (!wanted) return wanted.error().within("error getting match value in expression");
  return *wanted == actual;
}

/// Whether `value` is `text`; the text is read as the value's kind.
Result<bool> is_equal(const Value& value, const std::string& text) {
  switch (value.kind) {
    case Value::Kind::boolean:
      return compare(parse_bool(text), value.boolean);
    case Value::Kind::signed_number:
      return compare(parse_int(text, 0), value.signed_number);
    case Value::Kind::unsigned_number:
      return compare(parse_uint(text, 0), value.unsigned_number);
    case Value::Kind::real:
      return compare(parse_float(text), value.real);
    case Value::Kind::text:
      return value.text == text;
    case Value::Kind::none:
    case Value::Kind::object:
    case Value::Kind::list:
    case Value::Kind::map:
    case Value::Kind::opaque:
    case Value::Kind::root:
      break;
  }
  return refuse("unable to find suitable primitive comparison function for matching");
}

Error no_pattern(const Expression& match, const Error& why) {
  return why.within("Failed to compile regular expression \"" + match.value + '"');
}

/// A name that any/all gave: for another path, or for a value of its own.
struct Local {
  std::string name;
  std::vector<std::string> path;  ///< Empty: `value` counts.
  Value value;
};

}  // namespace

struct Filter::Compiled {
  std::shared_ptr<const Expression> expression;
  Patterns patterns;

  void compile_patterns(const Expression& node, Work& work) {
    if (node.left) compile_patterns(*node.left, work);
    if (node.right) compile_patterns(*node.right, work);
    if (node.kind != Expression::Kind::match) return;
    if (node.op != MatchOp::matches && node.op != MatchOp::not_matches) return;
    patterns.emplace(&node, Regex::compile(node.value, work, regex_memory));
  }
};

namespace {

/// Evaluates one expression over one row.
class Evaluation {
public:
  Evaluation(const Row& row, const Patterns& patterns, Work& work)
      : row_{row}, patterns_{patterns}, work_{work} {}

  Result<bool> evaluate(const Expression& node) {
    NOMAD_TRY(work_.take(Work::step));
    switch (node.kind) {
      case Expression::Kind::match:
        return match(node);
      case Expression::Kind::negation: {
        auto operand = evaluate(*node.left);
        if (!operand) return operand;
        return !*operand;
      }
      case Expression::Kind::conjunction: {
        auto left = evaluate(*node.left);
        if (!left || !*left) return left;
        return evaluate(*node.right);
      }
      case Expression::Kind::disjunction: {
        auto left = evaluate(*node.left);
        if (!left || *left) return left;
        return evaluate(*node.right);
      }
      case Expression::Kind::any:
      case Expression::Kind::all:
        return over_elements(node);
    }
    return refuse("Invalid AST node");
  }

private:
  /// The path that `selector` means once local names are replaced, innermost first; or the value
  /// that a local name stands for.
  Result<std::optional<Value>> find(const Selector& selector) {
    if (locals_.empty()) return find_value(row_, selector.path, raw_, work_);
    auto path = selector.path;
    for (auto local = locals_.rbegin(); local != locals_.rend() && !path.empty(); ++local) {
      if (local->name != path[0]) continue;
      if (local->path.empty()) {
        if (path.size() > 1)
          return refuse("/" + path[0] + " references a " + std::string{local->value.kind_name()}
                        + " so the path below it is invalid");
        return std::optional<Value>{local->value};
      }
      path.erase(path.begin());
      path.insert(path.begin(), local->path.begin(), local->path.end());
    }
    return find_value(row_, path, raw_, work_);
  }

  Result<bool> match(const Expression& node) {
    Value plain;
    if (locals_.empty() && read_plain(row_, node.selector.path, plain)) return judge(node, plain);
    const auto found = NOMAD_TRY(find(node.selector));
    return found ? judge(node, *found) : if_absent(node.op);
  }

  Result<bool> judge(const Expression& node, const Value& value) {
    switch (node.op) {
      case MatchOp::equal:
        return equals(value, node.value);
      case MatchOp::not_equal:
        return negate(equals(value, node.value));
      case MatchOp::in:
        return contains(value, node);
      case MatchOp::not_in:
        return negate(contains(value, node));
      case MatchOp::is_empty:
        return is_empty(value, node);
      case MatchOp::is_not_empty:
        return negate(is_empty(value, node));
      case MatchOp::matches:
        return matches(value, node);
      case MatchOp::not_matches:
        return negate(matches(value, node));
    }
    return refuse("Invalid match operation");
  }

  /// `is_equal`, once its bytes are paid for: texts of different lengths are not read.
  Result<bool> equals(const Value& value, const std::string& text) {
    if (value.kind != Value::Kind::text || value.text.size() == text.size())
      NOMAD_TRY(work_.take(text.size()));
    return is_equal(value, text);
  }

  Result<bool> contains(const Value& value, const Expression& match) {
    if (value.kind == Value::Kind::text) {
      NOMAD_TRY(work_.take(value.text.size() + match.value.size()));
      return find_text(value.text, match.value) != std::string_view::npos;
    }
    if (value.kind == Value::Kind::map) {
      NOMAD_TRY(work_.take(Work::times(std::bit_width(value.size()), match.value.size())));
      return value.entry(match.value).has_value();
    }
    if (value.kind != Value::Kind::list)
      return refuse("Cannot perform in/contains operations on type "
                    + std::string{value.kind_name()} + " for selector: \"" + match.selector.text()
                    + '"');
    for (unsigned i = 0; i < value.size(); ++i) {
      NOMAD_TRY(work_.take(Work::step));
      const auto element = value.element(i);
      if (element.kind == Value::Kind::object || element.kind == Value::Kind::list)
        return refuse(
            "unable to find suitable primitive comparison function for \"in\" comparison");
      auto same = equals(element, match.value);
      if (!same || *same) return same;
    }
    return false;
  }

  static Result<bool> negate(Result<bool> result) {
    if (!result) return result;
    return !*result;
  }

  static Result<bool> is_empty(const Value& value, const Expression& node) {
    if (value.has_size()) return value.size() == 0;
    return refuse("Cannot perform is empty operations on type " + std::string{value.kind_name()}
                  + " for selector: \"" + node.selector.text() + '"');
  }

  Result<bool> matches(const Value& value, const Expression& node) {
    if (value.kind != Value::Kind::text)
      return refuse("Value of type " + std::string{value.kind_name()}
                    + " is not convertible to []byte");
    const auto& pattern = patterns_.at(&node);
    if (!pattern) return no_pattern(node, pattern.error());
    return pattern->matches(value.text, work_);
  }

  void name(const std::string& name, std::vector<std::string> path, Value value) {
    if (!name.empty()) locals_.push_back({name, std::move(path), std::move(value)});
  }

  Result<bool> over_elements(const Expression& node) {
    const bool is_all = node.kind == Expression::Kind::all;
    auto found = NOMAD_TRY(find(node.selector));
    if (!found) return is_all;
    const auto value = *found;
    if (value.kind != Value::Kind::list && value.kind != Value::Kind::map)
      return refuse(node.selector.text() + " is not a list or a map");
    if (!node.index_name.empty() && node.index_name == node.value_name)
      return refuse('"' + node.index_name
                    + "\" cannot be used as a placeholder for both the index and the value");
    for (unsigned i = 0; i < value.size(); ++i) {
      const auto outer = locals_.size();
      if (value.kind == Value::Kind::map) NOMAD_TRY(work_.take(value.key(i).size()));
      name_element(node, value, i);
      auto result = evaluate(*node.left);
      locals_.resize(outer);
      if (!result || *result != is_all) return result;
    }
    return is_all;
  }

  void name_element(const Expression& node, const Value& value, unsigned index) {
    auto path = node.selector.path;
    Value label;
    if (value.kind == Value::Kind::map) {
      label.kind = Value::Kind::text;
      label.text = value.key(index);
      path.emplace_back(label.text);
      name(node.element_name, {}, label);
    } else {
      label.kind = Value::Kind::signed_number;
      label.signed_number = index;
      path.push_back(std::to_string(index));
      name(node.element_name, path, {});
    }
    name(node.index_name, {}, label);
    name(node.value_name, std::move(path), {});
  }

  const Row& row_;
  const Patterns& patterns_;
  Work& work_;
  RawTexts raw_;
  std::vector<Local> locals_;
};

}  // namespace

Filter::Filter(std::unique_ptr<const Compiled> compiled) : compiled_{std::move(compiled)} {}

Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

Result<Filter> Filter::compile(std::string_view text, std::uint64_t most) {
  auto expression = NOMAD_TRY(parse_filter(text));
  auto compiled = std::make_unique<Compiled>();
  compiled->expression = std::move(expression);
  Work work{most};
  compiled->compile_patterns(*compiled->expression, work);
  return Filter{std::move(compiled)};
}

Result<Filter> Filter::compile(std::string_view text) {
  return compile(text, compile_work);
}

Result<Filter> Filter::compile_decided(std::string_view text) {
  return compile(text, unbounded);
}

Result<> Filter::check_patterns() const {
  for (const auto& [match, pattern] : compiled_->patterns)
    if (!pattern) return no_pattern(*match, pattern.error());
  return {};
}

Result<bool> Filter::matches(capnp::DynamicStruct::Reader row,
                             std::span<const Extra> extras,
                             Work& work) const {
  const Row whole{row, extras, {}, nullptr};
  return Evaluation{whole, compiled_->patterns, work}.evaluate(*compiled_->expression);
}

Result<bool> Filter::matches(capnp::DynamicStruct::Reader row,
                             const object::FlatStruct& fields,
                             const object::StructPlan& plan,
                             std::span<const Extra> extras,
                             Work& work) const {
  const Row whole{row, extras, fields, &plan};
  return Evaluation{whole, compiled_->patterns, work}.evaluate(*compiled_->expression);
}

Result<bool> Filter::matches(capnp::DynamicStruct::Reader row) const {
  Work work{row_work};
  return matches(row, {}, work);
}

}  // namespace nomad::query
