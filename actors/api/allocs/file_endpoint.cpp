// /v1/client/fs/…: the files and logs of allocations on this node. Every access goes through
// host::Beneath, which a task's links and FIFOs cannot mislead or block.
#include <algorithm>
#include <charconv>

#include "actors/api/allocs/alloc_endpoint.hpp"
#include "actors/api/allocs/follower.hpp"
#include "actors/api/allocs/line_query.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/base/base64.hpp"
#include "runtime/base/log.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::api {
namespace {

using client::client_api::AllocDir;
using host::Beneath;

/// Larger files are sent in pieces.
constexpr std::size_t whole_file = 1024 * 1024;

/// What is done on the file thread, when it is known where the allocation's files are.
using Reading = std::function<Outcome(Call& call, const AllocDir& dir, host::FileWatcher*)>;

/// Asks the client for that, and goes on on the file thread.
Outcome ask_directory(Call& call,
                      const ClientParts& parts,
                      std::function<void(const SharedCall&, const Result<AllocDir>&)> then) {
  if (call.rest.empty()) return bad_request("must provide a valid alloc id");
  NOMAD_TRY(check_id("alloc", call.rest));
  if (!parts.client) return not_found("Unknown allocation \"" + call.rest + '"');
  client::client_api::AllocDirOf request{call.rest, call.asking};
  const auto shared = share(std::move(call));
  shared->context->asker.ask<AllocDir>(
      parts.client, std::move(request), ask_timeout,
      shared->context->files->turns().callback(
          [shared, then](const Result<AllocDir>& dir) { then(shared, dir); }));
  return later;
}

Outcome with_directory(Call& call, const ClientParts& parts, Reading work) {
  return ask_directory(call, parts, [work](const SharedCall& shared, const Result<AllocDir>& dir) {
    auto* watcher = shared->context->files->watcher();
    shared->settle(dir ? work(*shared, *dir, watcher) : Outcome{dir.error()});
  });
}

/// The `path` parameter; an error when it is missing and there is no default.
Result<std::string> path_parameter(const Call& call, std::string_view absent = {}) {
  const auto path = call.request().parameter_or_empty("path");
  if (!path.empty()) return std::string{path};
  if (absent.empty()) return bad_request("must provide a file name");
  return std::string{absent};
}

// --- ls and stat
// -----------------------------------------------------------------------------------

void append_file(std::string& out, const host::FileInfo& file, bool with_type) {
  JsonObject object{out};
  if (with_type) object.text("ContentType", file.content_type);
  object.text("FileMode", file.mode)
      .boolean("IsDir", file.is_dir)
      .text("ModTime", format_rfc3339(file.modified))
      .text("Name", file.name)
      .number("Size", file.size);
}

/// One page: a directory may have a million files. A client that asks for no pages, as Nomad's own
/// do, gets the first `Listing::most`, and with them the token of what follows.
Outcome list_page_of(const AllocDir& dir, const std::string& path, const ReadOptions& options) {
  const auto directory = NOMAD_TRY(Beneath::open(dir.path));
  host::Listing listing{.from = options.next_token};
  if (options.per_page > 0)
    listing.most = std::min(listing.most, static_cast<std::size_t>(options.per_page));
  auto page = NOMAD_TRY(directory.list(path, listing));
  auto answer = Answer::json(json_list(page.files, [](std::string& to, const host::FileInfo& file) {
    append_file(to, file, false);
  }));
  answer.next_token = std::move(page.next);
  return answer;
}

/// On the threads for listings, so that neither files and logs nor those of other allocations wait.
Outcome list_files(Call& call, const ClientParts& parts) {
  // What else lists understand does not concern it, as in Nomad.
  const auto options = parse_read_options(call.request()).value_or(ReadOptions{});
  return ask_directory(
      call, parts,
      [path = *path_parameter(call, "/"), options](const SharedCall& shared,
                                                   const Result<AllocDir>& dir) {
        if (!dir) return shared->settle(dir.error());
        run_on(
            shared->context->listings, shared,
            [dir = *dir, path, options](Call&) { return list_page_of(dir, path, options); },
            shared->rest);
      });
}

Outcome stat_file(Call& call, const ClientParts& parts) {
  const auto path = NOMAD_TRY(path_parameter(call));
  return with_directory(call, parts,
                        [path](Call&, const AllocDir& dir, host::FileWatcher*) -> Outcome {
                          const auto directory = NOMAD_TRY(Beneath::open(dir.path));
                          const auto file = NOMAD_TRY(directory.stat(path));
                          std::string out;
                          append_file(out, file, true);
                          return Answer::json(std::move(out));
                        });
}

// --- cat and readat
// --------------------------------------------------------------------------------

/// What a browser must not run. Text of a task is shown as text.
std::string safe_content_type(std::string_view bytes) {
  auto sniffed = host::detect_content_type("", bytes);
  return sniffed.starts_with("text/html") ? "text/plain" : sniffed;
}

net::Headers protective_headers() {
  return {{"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-XSS-Protection", "1; mode=block"}};
}

/// How an allocation's files are followed: as long as it has not ended.
FollowStyle follow_style(const Call& call, const ClientParts& parts, bool plain, bool follow) {
  FollowStyle style{.plain = plain, .follow = follow};
  style.node = parts.client;
  style.alloc = client::client_api::AllocDirOf{call.rest, call.asking};
  return style;
}

/// Sends `limit` bytes (0: all) of a file from `offset` on.
Outcome send_file(Call& call,
                  const ClientParts& parts,
                  const AllocDir& dir,
                  const std::string& path,
                  std::uint64_t offset,
                  std::uint64_t limit) {
  auto directory = NOMAD_TRY(Beneath::open(dir.path));
  const auto file = NOMAD_TRY(directory.open_file(path));
  const auto left = file.size > offset ? file.size - offset : 0;
  const auto size = limit != 0 ? std::min(left, limit) : left;
  const auto head
      = NOMAD_TRY(directory.read_at(path, offset, std::min<std::uint64_t>(size, whole_file)));
  if (size <= whole_file)
    return Answer{
        .content_type = safe_content_type(head), .body = head, .headers = protective_headers()};
  auto owned = std::make_unique<Beneath>(std::move(directory));
  auto stream = NOMAD_TRY(host::FileStream::open(
      *owned, path,
      {.offset = offset, .origin = host::Origin::start, .follow = false, .limit = limit}));
  auto body = call.responder.stream(
      {.content_type = safe_content_type(head), .headers = protective_headers()});
  std::make_shared<Follower<host::FileStream>>(call.context, std::move(owned), std::move(stream),
                                               std::move(body),
                                               follow_style(call, parts, true, false))
      ->start(nullptr);
  return later;
}

Outcome cat_file(Call& call, const ClientParts& parts) {
  const auto path = NOMAD_TRY(path_parameter(call));
  return with_directory(call, parts,
                        [path, parts](Call& asked, const AllocDir& dir, host::FileWatcher*) {
                          return send_file(asked, parts, dir, path, 0, 0);
                        });
}

/// A decimal parameter as Go parses it.
Result<std::int64_t> number_parameter(const Call& call, std::string_view name, bool is_required) {
  const auto text = call.request().parameter_or_empty(name);
  if (text.empty() && !is_required) return 0;
  std::int64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc{} || stopped != end)
    return Error{Errc::rejected, "error parsing " + std::string{name}
                                     + ": strconv.ParseInt: parsing \"" + std::string{text}
                                     + "\": invalid syntax"};
  return number;
}

Outcome read_file_at(Call& call, const ClientParts& parts) {
  const auto path = path_parameter(call);
  const auto offset = number_parameter(call, "offset", true);
  const auto limit = number_parameter(call, "limit", false);
  if (offset && *offset < 0) return bad_request("offset can't be negative");
  if (!path || !offset || !limit)
    return !path ? path.error() : !offset ? offset.error() : limit.error();
  return with_directory(call, parts,
                        [path = *path, offset = *offset, limit = *limit, parts](
                            Call& asked, const AllocDir& dir, host::FileWatcher*) {
                          return send_file(
                              asked, parts, dir, path, static_cast<std::uint64_t>(offset),
                              static_cast<std::uint64_t>(std::max<std::int64_t>(limit, 0)));
                        });
}

// --- stream and logs
// -------------------------------------------------------------------------------

Result<bool> flag(const Call& call, std::string_view name, bool absent) {
  const auto text = call.request().parameter_or_empty(name);
  if (text.empty()) return absent;
  const auto value = parse_bool(text);
  if (!value)
    return bad_request("failed to parse " + std::string{name}
                       + " field to boolean: " + value.error().what);
  return *value;
}

/// The parameters that stream and logs share.
Result<host::StreamOptions> stream_options(const Call& call, bool follows) {
  host::StreamOptions options;
  options.follow = NOMAD_TRY(flag(call, "follow", follows));
  const auto offset = number_parameter(call, "offset", false);
  if (!offset) return bad_request(offset.error().what);
  if (*offset < 0) return bad_request("offset can't be negative");
  const auto origin = host::parse_origin(call.request().parameter_or_empty("origin"));
  if (!origin) return bad_request("origin must be start or end");
  options.offset = static_cast<std::uint64_t>(*offset);
  options.origin = *origin;
  return options;
}

/// Answers with a stream that was opened.
template <class Stream>
Outcome follow(Call& call,
               std::unique_ptr<Beneath> directory,
               Stream stream,
               std::string content_type,
               FollowStyle style,
               host::FileWatcher* watcher) {
  auto body = call.responder.stream({.content_type = std::move(content_type)});
  std::make_shared<Follower<Stream>>(call.context, std::move(directory), std::move(stream),
                                     std::move(body), style)
      ->start(watcher);
  return later;
}

Outcome stream_file(Call& call, const ClientParts& parts) {
  const auto path = NOMAD_TRY(path_parameter(call));
  const auto options = NOMAD_TRY(stream_options(call, true));
  return with_directory(call, parts,
                        [path, options, parts](Call& asked, const AllocDir& dir,
                                               host::FileWatcher* watcher) -> Outcome {
                          auto wanted = options;
                          if (dir.ended) wanted.follow = false;
                          auto opened = NOMAD_TRY(Beneath::open(dir.path));
                          auto directory = std::make_unique<Beneath>(std::move(opened));
                          auto stream = NOMAD_TRY(host::FileStream::open(*directory, path, wanted));
                          return follow(asked, std::move(directory), std::move(stream),
                                        "text/plain; charset=utf-8",
                                        follow_style(asked, parts, false, wanted.follow), watcher);
                        });
}

struct LogQuery {
  std::string task;
  std::string type_name;
  host::LogType type = host::LogType::stdout_log;
  bool plain = false;
  host::StreamOptions options;
};

Result<LogQuery> log_query(const Call& call) {
  LogQuery query;
  query.task = call.request().parameter_or_empty("task");
  if (query.task.empty()) return bad_request("must provide task name");
  query.options = NOMAD_TRY(stream_options(call, false));
  query.plain = NOMAD_TRY(flag(call, "plain", false));
  query.type_name = call.request().parameter_or_empty("type");
  const auto type = host::parse_log_type(query.type_name);
  if (query.type_name.empty() || !type) return bad_request("must provide log type (stdout/stderr)");
  query.type = *type;
  return query;
}

/// Whether there are logs to be read.
Result<> check_log_task(const AllocDir& dir, const LogQuery& query) {
  const auto task = std::find_if(dir.tasks.begin(), dir.tasks.end(), [&](const auto& candidate) {
    return candidate.name == query.task;
  });
  if (task == dir.tasks.end()) return bad_request("unknown task name \"" + query.task + '"');
  if (!task->started)
    return not_found("task \"" + query.task + "\" not started yet. No logs available");
  return {};
}

Error no_log_of(const LogQuery& query) {
  return not_found("log entry for task \"" + query.task + "\" and log type \"" + query.type_name
                   + "\" not found");
}

Outcome send_logs(Call& call,
                  const AllocDir& dir,
                  const ClientParts& parts,
                  LogQuery query,
                  host::FileWatcher* watcher) {
  if (dir.ended) query.options.follow = false;
  NOMAD_TRY(check_log_task(dir, query));
  auto opened = NOMAD_TRY(Beneath::open(dir.path));
  auto directory = std::make_unique<Beneath>(std::move(opened));
  auto stream = host::LogStream::open(*directory, query.task, query.type, query.options);
  if (!stream) return stream.error().code == Errc::not_found ? no_log_of(query) : stream.error();
  return follow(call, std::move(directory), std::move(*stream),
                query.plain ? "text/plain" : "application/json",
                follow_style(call, parts, query.plain, query.options.follow), watcher);
}

Outcome read_logs(Call& call, const ClientParts& parts) {
  const auto query = NOMAD_TRY(log_query(call));
  return with_directory(
      call, parts, [query, parts](Call& asked, const AllocDir& dir, host::FileWatcher* watcher) {
        return send_logs(asked, dir, parts, query, watcher);
      });
}

/// What of a task's log is wanted.
host::LineOptions line_options(LineQuery query) {
  host::LineOptions options{.since = query.since,
                            .begun = query.begun,
                            .tail = query.tail,
                            .follow = query.follow,
                            .now = unix_now};
  if (query.grep)
    options.wanted = [grep = std::move(query.grep)](std::string_view line, Work& work) {
      return grep->matches(line, work);
    };
  return options;
}

Outcome send_lines(Call& call,
                   const AllocDir& dir,
                   const ClientParts& parts,
                   const LogQuery& query,
                   LineQuery lines,
                   host::FileWatcher* watcher) {
  if (dir.ended) lines.follow = false;
  NOMAD_TRY(check_log_task(dir, query));
  auto opened = NOMAD_TRY(Beneath::open(dir.path));
  auto directory = std::make_unique<Beneath>(std::move(opened));
  const auto follows = lines.follow;
  auto read
      = host::LogLines::open(*directory, query.task, query.type, line_options(std::move(lines)));
  if (!read) return read.error().code == Errc::not_found ? no_log_of(query) : read.error();
  return follow(call, std::move(directory), LineFrames{std::move(*read)}, "application/x-ndjson",
                follow_style(call, parts, true, follows), watcher);
}

Outcome unknown_operation(Call&) {
  return not_found("Invalid method");
}

}  // namespace

Outcome read_log_lines(Call& call, const ClientParts& parts) {
  const auto query = NOMAD_TRY(log_query(call));
  const auto lines = NOMAD_TRY(parse_line_query(call.request(), unix_now()));
  return with_directory(
      call, parts,
      [query, lines, parts](Call& asked, const AllocDir& dir, host::FileWatcher* watcher) {
        return send_lines(asked, dir, parts, query, lines, watcher);
      });
}

std::string file_frame(const host::StreamChunk& chunk) {
  JsonObject object;
  if (!chunk.data.empty()) object.text("Data", encode_base64(chunk.data));
  if (!chunk.file.empty()) object.text("File", chunk.file);
  if (!chunk.event.empty()) object.text("FileEvent", chunk.event);
  if (chunk.offset != 0) object.number("Offset", chunk.offset);
  return object.take();
}

void add_file_routes(Routes& routes, ClientParts parts) {
  const auto with = routes.with(std::move(parts));
  const auto below
      = [&](const char* prefix, Capability capability, Outcome (*run)(Call&, const ClientParts&)) {
          routes.below(prefix, {{"", {{Methods::get, capability, with(run), Where::alloc_node}}}});
        };
  below("/v1/client/fs/ls/", Capability::read_fs, list_files);
  below("/v1/client/fs/stat/", Capability::read_fs, stat_file);
  below("/v1/client/fs/cat/", Capability::read_fs, cat_file);
  below("/v1/client/fs/readat/", Capability::read_fs, read_file_at);
  below("/v1/client/fs/stream/", Capability::read_fs, stream_file);
  below("/v1/client/fs/logs/", Capability::read_logs, read_logs);
  below("/v1/client/fs/lines/", Capability::read_logs, read_log_lines);
  routes.below("/v1/client/fs/",
               {{"", {{Methods::any, Capability::none, unknown_operation, Where::agent}}}});
}

}  // namespace nomad::api
