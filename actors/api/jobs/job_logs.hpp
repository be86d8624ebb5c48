// GET /v1/job/<id>/logs: the lines of all of a job's allocations as one stream, in the order of
// their times as far as that can be had (host::LogLines, cluster::LineMerge): newline-delimited
// JSON, `{"AllocID":…,"AllocName":…,"Task":…,"Type":"stdout","Time":…,"TimeBy":…,"Line":…}` each.
// `{"Live":true}` says, where it is followed, that all that there was has been told, `{"Error":…}`,
// with whose log it is, that something is missing, and `{}` that nothing happens. As a websocket,
// if that is asked for (websocket_stream.hpp).
//
// The server that is asked reads each log from its node by a request of its own (InnerExchange),
// which that node judges as any other. Who follows hears of allocations and tasks that come, and of
// nothing any more when the job has ended and all of its logs have, or when he may not read them.
//
// Bounds: `most_logs` are read at once, those of running allocations and new ones first; others are
// named, 10 000 at most, and opened as those end. Of each that is read waits what LineMerge and
// InnerExchange let wait, and of those that have ended as much as of LineMerge for all of these: so
// 38 MiB together at worst, when a node or the client is slow, and a few KiB as a rule. An agent
// serves `most_streams` at once.
#pragma once

#include <atomic>
#include <memory>

#include "actors/api/http/routes.hpp"

namespace nomad::api {

struct JobLogsParts {
  static constexpr std::size_t most_logs = 50;
  static constexpr int most_streams = 32;

  ClientParts client;
  /// How many are served now.
  std::shared_ptr<std::atomic<int>> streams = std::make_shared<std::atomic<int>>(0);
};

Outcome job_logs(Call& call, const JobLogsParts& parts);

}  // namespace nomad::api
