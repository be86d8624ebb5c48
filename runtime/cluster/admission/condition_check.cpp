#include "runtime/cluster/admission/condition_check.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"
#include "runtime/object/plan.hpp"
#include "runtime/query/filter_parser.hpp"
#include "runtime/text/number_text.hpp"
#include "schema/admission.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"

namespace nomad::cluster {
namespace {

using object::Shape;
using object::StructPlan;
using object::ValuePlan;
using query::Expression;
using query::MatchOp;

/// What a path leads to. `value` and `fields` null: it may be anything.
struct Location {
  const ValuePlan* value = nullptr;  ///< Null of the objects that a condition sees by themselves.
  const StructPlan* fields = nullptr;
  bool may_be_null = false;
};

Error unknown_name(std::string_view name,
                   std::string_view before,
                   const std::vector<std::string_view>& known) {
  auto text = fmt::format("{} has no {}", before, quote(shorten(name)));
  if (const auto near = closest_name(name, known); !near.empty())
    text += fmt::format(". Did you mean {}?", quote(near));
  return {Errc::invalid_argument, text};
}

Location place_of_value(const ValuePlan& value) {
  const auto* plan = &value;
  while (plan->shape == Shape::optional)
    plan = plan->element;
  if (plan->shape == Shape::raw_json) return {};
  const bool is_object = plan->shape == Shape::object;
  return {plan, is_object ? plan->fields : nullptr, is_object || plan != &value};
}

Location place_of_plain(Shape shape) {
  static const auto make = [](Shape of) {
    ValuePlan plan;
    plan.shape = of;
    return plan;
  };
  static const auto text = make(Shape::text);
  static const auto number = make(Shape::signed_number);
  return {shape == Shape::text ? &text : &number};
}

std::string_view kind_of(Shape shape) {
  switch (shape) {
    case Shape::boolean:
      return "true or false";
    case Shape::signed_number:
    case Shape::unsigned_number:
    case Shape::real:
      return "a number";
    case Shape::duration:
    case Shape::duration_text:
      return "a number of nanoseconds";
    case Shape::text:
    case Shape::secret_text:
    case Shape::enumeration:
      return "a text";
    case Shape::base64:
    case Shape::timestamp:
      return "nothing but there or not";
    case Shape::list:
      return "a list";
    case Shape::map:
      return "a map";
    case Shape::object:
    case Shape::optional:
    case Shape::raw_json:
      break;
  }
  return "an object";
}

std::string_view word_of(MatchOp op) {
  switch (op) {
    case MatchOp::equal:
      return "==";
    case MatchOp::not_equal:
      return "!=";
    case MatchOp::in:
      return "in";
    case MatchOp::not_in:
      return "not in";
    case MatchOp::is_empty:
      return "is empty";
    case MatchOp::is_not_empty:
      return "is not empty";
    case MatchOp::matches:
      return "matches";
    case MatchOp::not_matches:
      return "not matches";
  }
  return "?";
}

bool is_text(Shape shape) {
  return shape == Shape::text || shape == Shape::secret_text || shape == Shape::enumeration;
}

/// Whether values of this shape can be equal to a literal.
bool is_single(Shape shape) {
  return is_text(shape) || shape == Shape::boolean || shape == Shape::signed_number
         || shape == Shape::unsigned_number || shape == Shape::real || shape == Shape::duration
         || shape == Shape::duration_text;
}

/// Whether a value of this shape can be compared with `text`, as filters read it.
bool is_literal_of(Shape shape, const std::string& text) {
  switch (shape) {
    case Shape::boolean:
      return parse_bool(text).has_value();
    case Shape::signed_number:
    case Shape::duration:
    case Shape::duration_text:
      return parse_int(text, 0).has_value();
    case Shape::unsigned_number:
      return parse_uint(text, 0).has_value();
    case Shape::real:
      return parse_float(text).has_value();
    case Shape::text:
    case Shape::secret_text:
    case Shape::raw_json:
    case Shape::base64:
    case Shape::timestamp:
    case Shape::enumeration:
    case Shape::object:
    case Shape::list:
    case Shape::map:
    case Shape::optional:
      break;
  }
  return true;
}

/// Whether the operator of `match` can be asked of what its selector leads to, and of its literal.
Result<> check_operation(const Expression& match, const Location& location) {
  if (location.value == nullptr && location.fields == nullptr) return {};
  const auto shape = location.value != nullptr ? location.value->shape : Shape::object;
  const auto told = [&](std::string_view what) {
    return Error{
        Errc::invalid_argument,
        fmt::format("{} is {}: {}", quote(shorten(match.selector.text())), kind_of(shape), what)};
  };
  const auto compared = [&](Shape with) -> Result<> {
    if (is_literal_of(with, match.value)) return {};
    return told(fmt::format("it cannot be compared with {}", quote(shorten(match.value))));
  };
  const auto unfit
      = [&] { return told(fmt::format("{} cannot be asked of it", word_of(match.op))); };
  switch (match.op) {
    case MatchOp::equal:
    case MatchOp::not_equal:
      if (!is_single(shape)) return unfit();
      return compared(shape);
    case MatchOp::in:
    case MatchOp::not_in: {
      if (is_text(shape) || shape == Shape::map) return {};
      if (shape != Shape::list) return unfit();
      const auto element = place_of_value(*location.value->element);
      if (element.value == nullptr) return {};
      if (!is_single(element.value->shape)) return unfit();
      return compared(element.value->shape);
    }
    case MatchOp::is_empty:
    case MatchOp::is_not_empty:
      if (location.may_be_null || shape == Shape::list) return {};
      if (shape == Shape::object || (is_single(shape) && !is_text(shape))) return unfit();
      return {};
    case MatchOp::matches:
    case MatchOp::not_matches:
      if (!is_text(shape)) return unfit();
      return {};
  }
  return {};
}

class NameCheck {
public:
  Result<> check(const Expression& node) {
    if (node.kind == Expression::Kind::match) {
      const auto asked = location_of(node.selector.path);
      if (!asked.error.what.empty()) return asked.error;
      return check_operation(node, asked.location);
    }
    if (node.kind != Expression::Kind::any && node.kind != Expression::Kind::all) {
      if (node.left) NOMAD_TRY(check(*node.left));
      return node.right ? check(*node.right) : Result<>{};
    }
    const auto over = location_of(node.selector.path);
    if (!over.error.what.empty()) return over.error;
    NOMAD_TRY(check_elements(node, over.location));
    const auto outer = locals_.size();
    name_element(node, over.location);
    auto inner = check(*node.left);
    locals_.resize(outer);
    return inner;
  }

private:
  struct Found {
    Location location = {};
    Error error = {Errc::invalid_argument, {}};
  };

  struct Local {
    std::string name;
    Location location;
  };

  static Result<> check_elements(const Expression& node, const Location& over) {
    if (over.fields != nullptr
        || (over.value != nullptr && over.value->shape != Shape::list
            && over.value->shape != Shape::map))
      return Error{Errc::invalid_argument,
                   fmt::format("{} is neither a list nor a map: any and all cannot go over it",
                               quote(shorten(node.selector.text())))};
    if (!node.index_name.empty() && node.index_name == node.value_name)
      return Error{Errc::invalid_argument,
                   fmt::format("{} cannot be the name of both the index and the value",
                               quote(shorten(node.index_name)))};
    return {};
  }

  void name_element(const Expression& node, const Location& over) {
    const bool is_map = over.value != nullptr && over.value->shape == Shape::map;
    const bool is_list = over.value != nullptr && over.value->shape == Shape::list;
    const auto element = is_map || is_list ? place_of_value(*over.value->element) : Location{};
    const auto key = place_of_plain(Shape::text);
    const auto index = place_of_plain(Shape::signed_number);
    locals_.push_back({node.element_name, is_map ? key : element});
    locals_.push_back({node.index_name, is_map ? key : is_list ? index : Location{}});
    locals_.push_back({node.value_name, element});
  }

  Found location_of(const std::vector<std::string>& path) const {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local)
      if (!path.empty() && !local->name.empty() && local->name == path[0])
        return below(local->location, path);
    static const StructPlan& job = object::plan_of(capnp::Schema::from<schema::Job>());
    static const StructPlan& ns = object::plan_of(capnp::Schema::from<schema::Namespace>());
    static const StructPlan& request
        = object::plan_of(capnp::Schema::from<schema::AdmissionRequest>());
    const std::string_view root = path.empty() ? std::string_view{} : path[0];
    if (root == "job") return below({nullptr, &job, false}, path);
    if (root == "namespace") return below({nullptr, &ns, false}, path);
    if (root == "caller") return below(place_of_value(request.find("caller")->value), path);
    return {.error = unknown_name(root, "a condition (which sees job, namespace and caller)",
                                  {"job", "namespace", "caller"})};
  }

  static Found below(Location at, const std::vector<std::string>& path) {
    for (std::size_t i = 1; i < path.size(); ++i) {
      if (at.fields != nullptr) {
        const auto* field = at.fields->find(path[i]);
        const bool is_known = field != nullptr && field->name == path[i] && !field->hidden
                              && field->value.shape != Shape::secret_text;
        if (!is_known) return {.error = unknown_name(path[i], path[i - 1], names_of(*at.fields))};
        at = place_of_value(field->value);
      } else if (at.value != nullptr && at.value->shape == Shape::list) {
        if (!std::ranges::all_of(path[i], is_digit))
          return {.error
                  = {Errc::invalid_argument,
                     fmt::format("{} is a list: look at its elements by any or all", path[i - 1])}};
        at = place_of_value(*at.value->element);
      } else if (at.value != nullptr && at.value->shape == Shape::map) {
        at = place_of_value(*at.value->element);
      } else if (at.value == nullptr) {
        return {};
      } else {
        return {.error
                = {Errc::invalid_argument,
                   fmt::format("{} is {}: {} cannot be below it", quote(shorten(path[i - 1])),
                               kind_of(at.value->shape), quote(shorten(path[i])))}};
      }
    }
    return {.location = at};
  }

  static std::vector<std::string_view> names_of(const StructPlan& plan) {
    std::vector<std::string_view> names;
    for (const auto& field : plan.fields)
      if (!field.hidden && field.value.shape != Shape::secret_text) names.push_back(field.name);
    return names;
  }

  std::vector<Local> locals_;
};

}  // namespace

Result<> check_condition(std::string_view condition) {
  const auto expression = NOMAD_TRY(query::parse_filter(condition));
  return NameCheck{}.check(*expression);
}

}  // namespace nomad::cluster
