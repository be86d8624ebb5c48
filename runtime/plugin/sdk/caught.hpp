// What an author's code has thrown. Internal to the SDK.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include <kj/exception.h>

#include "runtime/base/result.hpp"

namespace nomad::plugin {

/// What a call of the author's code has thrown, as an error; nothing if it has not.
template <class Call>
std::optional<Error> caught(const Call& call) {
  try {
    call();
    return std::nullopt;
  } catch (const kj::Exception& thrown) {
    return Error{Errc::internal, std::string{"it threw: "} + thrown.getDescription().cStr()};
  } catch (const std::exception& thrown) {
    return Error{Errc::internal, std::string{"it threw: "} + thrown.what()};
  } catch (...) {
    return Error{Errc::internal, "it threw something that is no std::exception"};
  }
}

}  // namespace nomad::plugin
