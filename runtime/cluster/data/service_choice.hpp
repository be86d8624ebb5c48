// `?choose=<number>|<key>` of a service: the same few of its registrations for everybody who asks
// with the same key, by rendezvous hashing: when one of them goes, only its place is taken by
// another. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/object/object.hpp"
#include "schema/service.capnp.h"

namespace nomad::cluster {

using ServiceRef = Object<schema::ServiceRegistration>;

struct Choice {
  std::size_t number = 0;
  std::string key;
};

/// None for "". Errors are `invalid_argument`.
Result<std::optional<Choice>> parse_choice(std::string_view parameter);

/// The first `choice.number` in the order of the hashes of the key and the registrations' ids,
/// which is the same on every server and in every version.
std::vector<ServiceRef> choose(std::vector<ServiceRef> services, const Choice& choice);

}  // namespace nomad::cluster
