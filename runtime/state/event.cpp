#include "runtime/state/event.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::state {

namespace {

using Shown = detail::ShownKinds<Kinds>::List;

/// Calls `use.operator()<Kind>(reader)` with the payload's kind.
template <class Use, std::size_t at = 0>
auto with_kind(const Event::Payload& payload, Use use) {
  using Kind = std::tuple_element_t<at, Shown>;
  if constexpr (at + 1 < std::tuple_size_v<Shown>)
    if (payload.index() != at) return with_kind<Use, at + 1>(payload, use);
  return use.template operator()<Kind>(std::get<at>(payload).reader());
}

}  // namespace

std::string_view Event::topic() const {
  return with_kind(payload, []<class Kind>(auto) -> std::string_view { return Kind::topic; });
}

std::string_view Event::key() const {
  return with_kind(payload, []<class Kind>(auto object) {
    if constexpr (requires { object.getId(); })
      return view(object.getId());
    else if constexpr (requires { object.getAccessorId(); })
      return view(object.getAccessorId());
    else
      return view(object.getName());
  });
}

std::string_view Event::ns() const {
  return with_kind(payload, []<class Kind>(auto object) {
    if constexpr (requires { object.getNamespace(); })
      return view(object.getNamespace());
    else
      return std::string_view{};
  });
}

std::vector<std::string_view> Event::filter_keys() const {
  return with_kind(payload, []<class Kind>(auto object) {
    if constexpr (requires { &Kind::filter_keys; })
      return Kind::filter_keys(object);
    else
      return std::vector<std::string_view>{};
  });
}

}  // namespace nomad::state
