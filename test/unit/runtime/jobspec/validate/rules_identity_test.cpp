// Identities and schedules of tasks: names, bounds, and files that are nobody else's.
#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/base/utf8.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "test/unit/runtime/jobspec/validate/validated.hpp"

using boost::json::array;
using boost::json::object;
using boost::json::value;
using namespace nomad::jobspec;

namespace {

std::string identity_mistakes(std::string_view own, std::string_view named) {
  object job = small_job();
  if (!own.empty()) task_of(job)["Identity"] = boost::json::parse(own);
  if (!named.empty()) task_of(job)["Identities"] = boost::json::parse(named);
  return joined(errors_of(job));
}

bool identities_find(std::string_view named, std::string_view what) {
  return identity_mistakes("", named).find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("schedules: have a cron block whose end follows its start") {
  const auto finds = [](const std::string& schedule, const char* hook, const std::string& text) {
    auto job = small_job();
    task_of(job)["Schedule"] = boost::json::parse(schedule);
    task_of(job)["Lifecycle"] = object{{"Hook", hook}};
    return joined(errors_of(job)).find("Schedule validation failed: " + text) != std::string::npos;
  };
  const std::string good = R"({"Cron":{"Start":"0 9 * * MON-FRI *","End":"0 16"}})";
  CHECK_FALSE(finds(good, "poststart", ""));
  CHECK(finds(good, "poststop", "a poststop task runs when the others have ended"));
  CHECK(finds("{}", "poststart", "must specify cron block"));
  const std::string early = R"({"Cron":{"Start":"0 9 * * * *","End":"0 8"}})";
  CHECK(finds(early, "poststart", "end cannot be sooner than start; end=\"0 8\", start="));
}

TEST_CASE("identities: names, audiences, ends and files within their bounds") {
  CHECK(identity_mistakes(
            R"({"Env":true,"File":true})",
            R"([{"Name":"aws_1","Audience":["sts"],"TTL":3600000000000,"File":true,)"
            R"("Filepath":"secrets/aws.jwt","ChangeMode":"signal","ChangeSignal":"sighup"}])")
        == "");
  CHECK(identities_find(R"([{"Name":"a b"}])",
                        "invalid name \"a b\". Must match regex ^[a-zA-Z0-9-_]{1,128}$"));
  CHECK(identities_find(R"([{"Name":"a b"}])", "Identity \"a b\" is invalid: "));
  CHECK(identities_find(R"([{"Name":"a"},{"Name":"a"}])", "Identity \"a\" is there twice"));
  CHECK(identities_find(
      R"([{"Name":"default"}])",
      "there is one identity without a name, and it is not among those that have one"));
  CHECK(identities_find(R"([{"Name":"a","Audience":["x",""]}])",
                        "an empty string is an invalid audience (2)"));
  CHECK(identities_find(R"([{"Name":"a","TTL":-1}])", "ttl must be >= 0"));
  CHECK(identities_find(R"([{"Name":"a","TTL":9223372036854775807}])",
                        "ttl must be at most 720h0m0s"));
  CHECK(identities_find(R"([{"Name":"a","Filepath":"local/x"}])",
                        "file parameter must be true in order to specify filepath"));
  for (const auto* path : {"/etc/x", "../x", "secrets/../../x", "a/..", "local/x", "secrets",
                           "secretsx/y", "secrets/../local/x", "${NOMAD_SECRETS_DIR}/x"})
    CHECK(identities_find(R"([{"Name":"a","File":true,"Filepath":")" + std::string{path} + R"("}])",
                          "filepath must be below secrets/"));
  for (const auto* path : {"secrets/", "secrets/a/", "secrets/.", "secrets/a/./"})
    CHECK(identities_find(R"([{"Name":"a","File":true,"Filepath":")" + std::string{path} + R"("}])",
                          "filepath must name a file, and no directory"));
  CHECK(identities_find(R"([{"Name":"a","File":true,"Filepath":"secrets//./api.sock"}])",
                        "filepath can't be secrets/api.sock, which is the socket of the Task API"));
  CHECK(identity_mistakes(R"({"File":true})",
                          R"([{"Name":"a","File":true,"Filepath":"secrets/./nomad_token"}])")
            .find("Identities \"default\" and \"a\" have the same file, secrets/nomad_token")
        != std::string::npos);
  CHECK(identities_find(R"([{"Name":"a","File":true,"Filepath":"secrets/nomad_b.jwt"},)"
                        R"({"Name":"b","File":true},{"Name":"c","File":true}])",
                        "Identities \"a\" and \"b\" have the same file, secrets/nomad_b.jwt"));
  CHECK(identities_find(R"([{"Name":"a","ChangeMode":"stop"}])", "invalid change_mode: stop"));
  CHECK(identities_find(R"([{"Name":"a","ChangeMode":"signal"}])",
                        "change_signal must be specified when using change_mode=\"signal\""));
  CHECK(identities_find(R"([{"Name":"a","ChangeSignal":"SIGHUP"}])",
                        "can only use change_signal=\"SIGHUP\" with change_mode=\"signal\""));
  const auto own = identity_mistakes(R"({"TTL":1})", "");
  CHECK(own.find("Identity \"default\" is invalid: ") != std::string::npos);
  CHECK(own.find("ttl for default identity not yet supported") != std::string::npos);
  auto served = small_job();
  group_of(served)["Services"] = boost::json::parse(
      R"([{"Name": "web", "Provider": "nomad", "Identity": {"Name": "a", "TTL": -1}}])");
  CHECK(joined(errors_of(served)).find("Identity is invalid: ") != std::string::npos);
}

TEST_CASE("identities: no file is that of two, nor where the agent keeps what is its own") {
  const auto mistakes_of = [](std::string_view identities, std::string_view services,
                              std::string_view templates = "[]") {
    auto job = small_job();
    task_of(job)["Identity"] = boost::json::parse(R"({"File":true})");
    task_of(job)["Identities"] = boost::json::parse(identities);
    task_of(job)["Services"] = boost::json::parse(services);
    task_of(job)["Templates"] = boost::json::parse(templates);
    return joined(errors_of(job));
  };
  const auto file = [](std::string_view path) {
    return R"([{"Name":"a","File":true,"Filepath":")" + std::string{path} + R"("}])";
  };
  const auto service = [](std::string_view identity) {
    return R"([{"Name":"web","Provider":"nomad","Identity":{"Name":"x","Audience":["y"],)"
           + std::string{identity} + "}}]";
  };
  const auto text = [](std::string_view path) {
    return R"([{"EmbeddedTmpl":"x","ChangeMode":"noop","DestPath":")" + std::string{path}
           + R"("}])";
  };
  const auto has = [](const std::string& text, std::string_view part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
  };

  CHECK(mistakes_of(file("secrets/a/b"), service(R"("File":true)"), text("secrets/app.env")) == "");
  CHECK(has(mistakes_of(R"([{"Name":"service_web","File":true}])", service(R"("File":true)")),
            "Identities \"service_web\" and \"web\" of a service have the same file, "
            "secrets/nomad_service_web.jwt"));
  CHECK(has(mistakes_of("[]", service(R"("File":true,"Filepath":"secrets/nomad_token")")),
            "Identities \"default\" and \"web\" of a service have the same file, "
            "secrets/nomad_token"));
  CHECK(has(mistakes_of(file("secrets/nomad_token/x"), "[]"),
            "Identities \"default\" and \"a\" have files in each other's way, "
            "secrets/nomad_token and secrets/nomad_token/x"));
  CHECK(has(mistakes_of(file("secrets/nomad_service_web.jwt/x"), service(R"("File":true)")),
            "Identities \"a\" and \"web\" of a service have files in each other's way, "
            "secrets/nomad_service_web.jwt/x and secrets/nomad_service_web.jwt"));
  for (const auto* path : {"secrets/.api.sock.new", "secrets/api.sock/x", "secrets/./api.sock//x/y",
                           "secrets/.nomad_token.nomadctl-new", "secrets/.d.nomadctl-new/x"})
    CHECK(has(mistakes_of(file(path), "[]"), ", where the agent keeps what is its own"));
  CHECK(has(mistakes_of(file("secrets/api.sock/x"), "[]"),
            "filepath can't be secrets/api.sock/x, where the agent keeps what is its own"));
  CHECK(has(mistakes_of("[]", "[]", text("secrets/api.sock")),
            "template's destination can't be secrets/api.sock, where the agent keeps what is its "
            "own"));
  for (const auto* path :
       {"secrets/nomad_token", "/secrets//nomad_token", "${NOMAD_SECRETS_DIR}/nomad_token"})
    CHECK(has(mistakes_of("[]", "[]", text(path)),
              "template's destination secrets/nomad_token is in the way of identity \"default\", "
              "which has secrets/nomad_token"));
}

TEST_CASE("identities: no task has any number of them, for any number of audiences") {
  std::string audiences = R"("x")";
  for (int i = 0; i < 10'000; ++i)
    audiences += R"(,"x")";
  CHECK(identities_find(R"([{"Name":"a","Audience":[)" + audiences + "]}]",
                        "there may be at most 64 audiences"));
  const auto long_audiences = [&](std::size_t bytes) {
    return R"([{"Name":"a","Audience":[")" + std::string(bytes - 1, 'x') + R"(","y"]}])";
  };
  CHECK(identity_mistakes("", long_audiences(4096)).empty());
  CHECK(
      identities_find(long_audiences(4097), "the audiences may have at most 4096 bytes together"));
  std::string many = R"([{"Name":"a"})";
  for (int i = 0; i < 64; ++i)
    many += R"(,{"Name":"a)" + std::to_string(i) + R"("})";
  CHECK(identities_find(many + "]", "a task may have at most 64 identities"));
}
