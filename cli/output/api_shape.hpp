// ApiShape: objects of the API as Nomad's own commands print them by -json and -t. These read the
// answers into structures of their own: members that an answer leaves out come back with their zero
// values, and what the structures don't have is not shown.
#pragma once

#include <boost/json/value.hpp>

namespace nomad::cli {

enum class ApiShape {
  alloc,
  alloc_stub,
  deployment,
  evaluation,
  job,
  node,
  node_stub,
  kind,
  scaling_policy
};

/// An object of the API, or a list of them, as it is printed.
boost::json::value as_printed(ApiShape shape, const boost::json::value& answer);

}  // namespace nomad::cli
