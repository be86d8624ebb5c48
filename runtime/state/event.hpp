// Event: one change as the event stream shows it: the object as it is after the change (or was
// before its removal). Everything but topic and type is read from the object, so an event costs
// one reference. Who shows it leaves secrets out (the JSON codec does).
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "runtime/state/kinds/kinds.hpp"

namespace nomad::state {

namespace detail {

template <class Kind>
concept Shown = requires {
  Kind::topic;
};

/// The kinds of which events are shown.
template <class List, class... Chosen>
struct ShownKinds;

template <class... Chosen>
struct ShownKinds<std::tuple<>, Chosen...> {
  using Payload = std::variant<ObjectOf<Chosen>...>;
  using List = std::tuple<Chosen...>;
};

template <class Kind, class... Rest, class... Chosen>
struct ShownKinds<std::tuple<Kind, Rest...>, Chosen...>
    : ShownKinds<std::tuple<Rest...>, Chosen...> {};

template <Shown Kind, class... Rest, class... Chosen>
struct ShownKinds<std::tuple<Kind, Rest...>, Chosen...>
    : ShownKinds<std::tuple<Rest...>, Chosen..., Kind> {};

}  // namespace detail

struct Event {
  using Payload = detail::ShownKinds<Kinds>::Payload;

  /// "JobRegistered", "PlanResult": by the command, the same for all events of one.
  std::string_view type;
  Payload payload;

  /// "Job", "Evaluation": also the name of the payload's object in the stream.
  std::string_view topic() const;
  /// The object's id or name.
  std::string_view key() const;
  /// Empty for objects outside namespaces.
  std::string_view ns() const;
  /// What else a subscription's key may name: the job's id, the deployment's.
  std::vector<std::string_view> filter_keys() const;
};

}  // namespace nomad::state
