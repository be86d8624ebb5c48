// A request's body that is in a file, from one agent to another: over the byte stream of the call,
// at the pace of the slower of both disks. Held in memory per transfer: one piece where it is sent,
// a window of the stream (256 KiB) where it is received.
//
// Threads: the stream's callbacks come on threads that carry Raft's messages, too, and must not
// wait for a disk: all reading and writing is done by `run`, one piece of work of a transfer at a
// time.
#pragma once

#include <functional>
#include <memory>

#include "runtime/base/result.hpp"
#include "runtime/net/http/body_file.hpp"
#include "runtime/net/rpc/rpc_link.hpp"

namespace nomad::api {

/// Runs a job on another thread that may block; false: there are too many, and the job is as it
/// was.
using RunBlocking = std::function<bool(std::function<void()>& job)>;

/// Sends all of `file`, then ends the stream's direction. `failed`, if at all, is called once, from
/// any thread: the file could not be read. A stream that closes ends it silently.
void send_body(const std::shared_ptr<net::RpcStream>& stream,
               std::shared_ptr<const net::BodyFile> file,
               RunBlocking run,
               std::function<void(const Error&)> failed);

/// Writes what comes to `file`. `done` is called once, from any thread: when the end has come, or
/// when it cannot be written; never, and is dropped, when the stream closes before.
void receive_body(const std::shared_ptr<net::RpcStream>& stream,
                  std::shared_ptr<net::BodyFile> file,
                  RunBlocking run,
                  std::function<void(Result<>)> done);

}  // namespace nomad::api
