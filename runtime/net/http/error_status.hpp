// The one table of what an error's code is as an HTTP status. Every answer that tells an `Error`
// takes its status from here, on whichever agent it is made; docs/HTTP.md says which clients look
// at which.
#pragma once

#include "runtime/base/result.hpp"

namespace nomad::net {

/// 4xx: the caller must change the request, or what it is about; 5xx: we failed him.
unsigned http_status(Errc code);

/// The code of an answer with a status of 400 and above, for who knows no more than that; where
/// several codes have the status, the first that fits any of them.
Errc code_of_status(unsigned status);

}  // namespace nomad::net
