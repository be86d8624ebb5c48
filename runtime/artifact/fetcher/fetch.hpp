// Fetches one artifact into the working directory: what the order's source names becomes "out".
#pragma once

#include "runtime/artifact/fetcher/credential_files.hpp"
#include "runtime/artifact/fetcher/reporter.hpp"
#include "runtime/artifact/protocol/protocol.hpp"
#include "runtime/artifact/rules/reach.hpp"
#include "runtime/base/result.hpp"

namespace nomad::artifact {

/// `judge` outlives the process. Errors say what failed and where, without secrets of the source.
Result<FetchDone> fetch(const FetchOrder& order,
                        const Credentials& credentials,
                        const ReachJudge& judge,
                        Reporter& reporter);

}  // namespace nomad::artifact
