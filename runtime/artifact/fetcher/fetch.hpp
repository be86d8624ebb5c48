// Fetches one artifact into the working directory: what the order's source names becomes "out".
#pragma once

#include "runtime/artifact/fetcher/credential_files.hpp"
#include "runtime/artifact/fetcher/reporter.hpp"
#include "runtime/artifact/protocol/protocol.hpp"
#include "runtime/base/result.hpp"

namespace nomad::artifact {

/// Errors say what failed and where, without secrets of the source.
Result<FetchDone> fetch(const FetchOrder& order,
                        const Credentials& credentials,
                        Reporter& reporter);

}  // namespace nomad::artifact
