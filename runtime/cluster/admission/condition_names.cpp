#include "runtime/cluster/admission/condition_names.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"
#include "runtime/object/plan.hpp"
#include "runtime/query/filter_parser.hpp"
#include "schema/admission.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"

namespace nomad::cluster {
namespace {

using object::Shape;
using object::StructPlan;
using object::ValuePlan;
using query::Expression;

/// What a path leads to. `value` and `fields` null: anything may be below it, or nothing is.
struct Place {
  const ValuePlan* value = nullptr;
  const StructPlan* fields = nullptr;
};

Error unknown_name(std::string_view name,
                   std::string_view before,
                   const std::vector<std::string_view>& known) {
  auto text = fmt::format("{} has no {}", before, quote(shorten(name)));
  if (const auto near = closest_name(name, known); !near.empty())
    text += fmt::format(". Did you mean {}?", quote(near));
  return {Errc::invalid_argument, text};
}

Place place_of_value(const ValuePlan& value) {
  const auto* plan = &value;
  while (plan->shape == Shape::optional)
    plan = plan->element;
  return {plan, plan->shape == Shape::object ? plan->fields : nullptr};
}

class NameCheck {
public:
  Result<> check(const Expression& node) {
    if (node.kind == Expression::Kind::match) return place_of(node.selector.path).map_to_nothing();
    if (node.kind != Expression::Kind::any && node.kind != Expression::Kind::all) {
      if (node.left) NOMAD_TRY(check(*node.left));
      return node.right ? check(*node.right) : Result<>{};
    }
    const auto over = place_of(node.selector.path);
    if (!over.error.what.empty()) return over.error;
    const auto outer = locals_.size();
    name_element(node, over.place);
    auto inner = check(*node.left);
    locals_.resize(outer);
    return inner;
  }

private:
  struct Found {
    Place place = {};
    Error error = {Errc::invalid_argument, {}};

    Result<> map_to_nothing() const {
      if (error.what.empty()) return {};
      return error;
    }
  };

  struct Local {
    std::string name;
    Place place;
  };

  void name_element(const Expression& node, const Place& over) {
    const bool is_map = over.value != nullptr && over.value->shape == Shape::map;
    const bool is_list = over.value != nullptr && over.value->shape == Shape::list;
    const auto element = is_map || is_list ? place_of_value(*over.value->element) : Place{};
    locals_.push_back({node.element_name, is_map ? Place{} : element});
    locals_.push_back({node.index_name, {}});
    locals_.push_back({node.value_name, element});
  }

  Found place_of(const std::vector<std::string>& path) const {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local)
      if (!path.empty() && !local->name.empty() && local->name == path[0])
        return below(local->place, path);
    static const StructPlan& job = object::plan_of(capnp::Schema::from<schema::Job>());
    static const StructPlan& ns = object::plan_of(capnp::Schema::from<schema::Namespace>());
    static const StructPlan& request
        = object::plan_of(capnp::Schema::from<schema::AdmissionRequest>());
    const std::string_view root = path.empty() ? std::string_view{} : path[0];
    if (root == "job") return below({nullptr, &job}, path);
    if (root == "namespace") return below({nullptr, &ns}, path);
    if (root == "caller") return below(place_of_value(request.find("caller")->value), path);
    return {.error = unknown_name(root, "a condition (which sees job, namespace and caller)",
                                  {"job", "namespace", "caller"})};
  }

  static Found below(Place at, const std::vector<std::string>& path) {
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
      } else {
        return {};
      }
    }
    return {.place = at};
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

Result<> check_condition_names(std::string_view condition) {
  const auto expression = NOMAD_TRY(query::parse_filter(condition));
  return NameCheck{}.check(*expression);
}

}  // namespace nomad::cluster
