#include "runtime/csi/explain.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace nomad::csi {
namespace {

using Method = schema::csi::Method;

/// `says` has {0} for what it is about; what the plugin says follows.
struct Meaning {
  Method method;
  Cause cause;
  std::string_view says;
};

constexpr std::string_view in_use_elsewhere
    = "volume \"{0}\" is already published on another node and does not have MULTI_NODE volume "
      "capability";

constexpr std::array meanings{
    Meaning{Method::VALIDATE_VOLUME_CAPABILITIES, Cause::not_found,
            "volume \"{0}\" could not be found"},
    Meaning{Method::CREATE_VOLUME, Cause::invalid_argument,
            "volume \"{0}\" is not compatible with these parameters"},
    Meaning{Method::CREATE_VOLUME, Cause::not_found,
            "volume \"{0}\" snapshot source does not exist"},
    Meaning{Method::CREATE_VOLUME, Cause::already_exists,
            "volume \"{0}\" already exists but is incompatible with these parameters"},
    Meaning{Method::CREATE_VOLUME, Cause::exhausted,
            "unable to provision \"{0}\" in accessible_topology"},
    Meaning{Method::CREATE_VOLUME, Cause::out_of_range,
            "unsupported capacity_range for volume \"{0}\""},
    Meaning{Method::DELETE_VOLUME, Cause::failed_precondition, "volume \"{0}\" is in use"},
    Meaning{Method::CONTROLLER_EXPAND_VOLUME, Cause::invalid_argument,
            "requested capabilities not compatible with volume \"{0}\""},
    Meaning{Method::CONTROLLER_EXPAND_VOLUME, Cause::not_found,
            "volume \"{0}\" could not be found"},
    Meaning{Method::CONTROLLER_EXPAND_VOLUME, Cause::failed_precondition,
            "volume \"{0}\" cannot be expanded online"},
    Meaning{Method::CONTROLLER_EXPAND_VOLUME, Cause::out_of_range,
            "unsupported capacity_range for volume \"{0}\""},
    Meaning{Method::CONTROLLER_PUBLISH_VOLUME, Cause::not_found,
            "volume \"{0}\" or node could not be found"},
    Meaning{Method::CONTROLLER_PUBLISH_VOLUME, Cause::already_exists,
            "volume \"{0}\" is already published at node but with capabilities or a read_only "
            "setting incompatible with this request"},
    Meaning{Method::CONTROLLER_PUBLISH_VOLUME, Cause::exhausted,
            "node has reached the maximum allowable number of attached volumes"},
    Meaning{Method::CONTROLLER_PUBLISH_VOLUME, Cause::failed_precondition, in_use_elsewhere},
    Meaning{Method::CREATE_SNAPSHOT, Cause::already_exists,
            "snapshot already exists but is incompatible with volume ID \"{0}\""},
    Meaning{Method::CREATE_SNAPSHOT, Cause::aborted, "snapshot of \"{0}\" is already pending"},
    Meaning{Method::CREATE_SNAPSHOT, Cause::exhausted,
            "storage provider does not have enough space for a snapshot of \"{0}\""},
    Meaning{Method::DELETE_SNAPSHOT, Cause::failed_precondition,
            "snapshot \"{0}\" could not be deleted because it is in use"},
    Meaning{Method::DELETE_SNAPSHOT, Cause::aborted, "snapshot \"{0}\" has a pending operation"},
    Meaning{Method::LIST_VOLUMES, Cause::aborted, "invalid starting token \"{0}\""},
    Meaning{Method::LIST_SNAPSHOTS, Cause::aborted, "invalid starting token \"{0}\""},
    Meaning{Method::NODE_STAGE_VOLUME, Cause::not_found, "volume \"{0}\" could not be found"},
    Meaning{Method::NODE_STAGE_VOLUME, Cause::already_exists,
            "volume \"{0}\" is already staged but with incompatible capabilities for this request"},
    Meaning{Method::NODE_STAGE_VOLUME, Cause::failed_precondition, in_use_elsewhere},
    Meaning{Method::NODE_PUBLISH_VOLUME, Cause::not_found, "volume \"{0}\" could not be found"},
    Meaning{Method::NODE_PUBLISH_VOLUME, Cause::already_exists,
            "volume \"{0}\" is already published at target path but with capabilities or a "
            "read_only setting incompatible with this request"},
    Meaning{Method::NODE_PUBLISH_VOLUME, Cause::failed_precondition, in_use_elsewhere},
};

/// As Go's programs write the codes.
std::string_view code_name(Cause cause) {
  constexpr std::array<std::string_view, 17> names{
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const auto number = static_cast<std::size_t>(cause);
  return number < names.size() ? names[number] : std::string_view{"Unknown"};
}

bool is_of_node(Method method) {
  return method >= Method::NODE_STAGE_VOLUME;
}

}  // namespace

std::string explain(Method method, const std::string& about, const Failure& failure) {
  const bool is_said = static_cast<std::uint16_t>(failure.cause) < 17;
  const auto words = is_said ? fmt::format("rpc error: code = {} desc = {}",
                                           code_name(failure.cause), failure.what)
                             : failure.what;
  for (const auto& meaning : meanings)
    if (meaning.method == method && meaning.cause == failure.cause)
      return fmt::format("{}: {}", fmt::format(fmt::runtime(meaning.says), about), words);
  if (failure.cause == Cause::internal)
    return fmt::format(
        "{} plugin returned an internal error, check the plugin allocation logs for more "
        "information: {}",
        is_of_node(method) ? "node" : "controller", words);
  return words;
}

}  // namespace nomad::csi
