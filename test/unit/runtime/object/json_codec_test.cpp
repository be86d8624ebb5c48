#include "runtime/object/json_codec.hpp"

#include <random>

#include <boost/json.hpp>
#include <capnp/dynamic.h>
#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "schema/acl.capnp.h"
#include "schema/alloc.capnp.h"
#include "schema/eval.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
#include "schema/operator.capnp.h"

using nomad::Draft;
using nomad::to_json;
using namespace nomad::schema;

namespace {

/// What is wrong with `text`, or "" after filling `draft`.
template <class T>
std::string decode(std::string_view text, Draft<T>& draft) {
  const auto read = nomad::FlatJson::read(text);
  if (!read) return read.error().what;
  const auto outcome = nomad::from_json(read->root(), *draft);
  return outcome ? "" : outcome.error().what;
}

template <class T>
std::string decode(std::string_view text) {
  Draft<T> draft;
  return decode(text, draft);
}

template <class T>
std::string round_trip(std::string_view text) {
  Draft<T> draft;
  auto problem = decode(text, draft);
  return problem.empty() ? to_json(*draft.freeze()) : problem;
}

/// Fills objects of any schema with whatever may stand in them.
class Filler {
public:
  explicit Filler(std::uint32_t seed) : random_{seed} {}

  void fill(capnp::DynamicStruct::Builder object, int depth) {
    const auto schema = object.getSchema();
    const auto of_union = schema.getUnionFields();
    for (const auto field : schema.getNonUnionFields())
      if (below(4) != 0) fill(object, field, depth);
    if (of_union.size() != 0) fill(object, of_union[below(of_union.size())], depth);
  }

private:
  std::uint32_t below(std::uint32_t bound) { return random_() % bound; }

  std::string text() {
    std::string made;
    for (auto left = below(12); left != 0; --left)
      made += static_cast<char>(below(8) == 0 ? "\n\"\\\x01\x7f/"[below(6)] : 'a' + below(26));
    return made;
  }

  void fill(capnp::DynamicStruct::Builder object, capnp::StructSchema::Field field, int depth) {
    const auto type = field.getType();
    if (field.getProto().isGroup())
      return fill(object.init(field).as<capnp::DynamicStruct>(), depth);
    if (type.isVoid()) return object.set(field, capnp::VOID);
    if (type.isBool()) return object.set(field, below(2) == 0);
    if (type.isText()) return object.set(field, text().c_str());
    if (type.isFloat32() || type.isFloat64()) return object.set(field, below(1000) / 8.0);
    if (type.isEnum())
      return object.set(field, capnp::DynamicEnum{type.asEnum().getEnumerants()[0]});
    if (type.isData()) {
      const auto bytes = text();
      const auto* data = reinterpret_cast<const kj::byte*>(bytes.data());
      return object.set(field, capnp::Data::Reader{data, bytes.size()});
    }
    if (depth == 0 && (type.isStruct() || type.isList())) return;
    if (type.isStruct()) return fill(object.init(field).as<capnp::DynamicStruct>(), depth - 1);
    if (type.isList()) {
      const auto count = below(3);
      auto list = object.init(field, count).as<capnp::DynamicList>();
      const auto element = type.asList().getElementType();
      for (std::uint32_t i = 0; i < count; ++i) {
        if (element.isStruct())
          fill(list[i].as<capnp::DynamicStruct>(), depth - 1);
        else if (element.isText())
          list.set(i, text().c_str());
        else if (!element.isData() && !element.isEnum() && !element.isList())
          list.set(i, below(100));
      }
      return;
    }
    object.set(field, below(2) == 0 ? 0 : below(100));
  }

  std::mt19937 random_;
};

template <class T>
void check_flat(std::uint32_t seed) {
  Filler filler{seed};
  Draft<T> draft;
  typename T::Builder fields = *draft;
  filler.fill(capnp::DynamicStruct::Builder{fields}, 6);
  const nomad::Object<T> object = draft.freeze();
  std::string flat;
  nomad::append_json(flat, object);
  REQUIRE(flat == to_json(object.reader()));
}

}  // namespace

TEST_CASE("json_codec: what is read as it lies in memory is what checked readers read") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    check_flat<Job>(seed);
    check_flat<Allocation>(seed);
    check_flat<Evaluation>(seed);
    check_flat<Node>(seed);
    check_flat<TaskState>(seed);
  }
}

TEST_CASE("json_codec: JSON survives the way through an object") {
  const char* state
      = R"({"Events":[{"Details":{"exit_code":"1"},"DiskLimit":0,"DisplayMessage":)"
        R"("a \"quoted\" word","DownloadError":"","DriverError":"","DriverMessage":)"
        R"("","ExitCode":1,"FailedSibling":"","FailsTask":false,"GenericSource":"",)"
        R"("KillError":"","KillReason":"","KillTimeout":0,"Message":"","RestartReason":)"
        R"("","SetupError":"","Signal":0,"StartDelay":0,"TaskSignal":"",)"
        R"("TaskSignalReason":"","Time":1700000000000000000,"Type":"Terminated",)"
        R"("ValidationError":"","VaultError":""}],"Failed":true,"FinishedAt":)"
        R"("2023-11-14T22:13:20Z","LastRestart":null,"Restarts":2,"StartedAt":null,)"
        R"("State":"dead","TaskHandle":null})";
  CHECK(round_trip<TaskState>(state) == state);
}

TEST_CASE("json_codec: names match without regard to case, unknown members are ignored") {
  Draft<Job> draft;
  REQUIRE(
      decode(R"({"id":"web","PRIORITY":7,"Nonsense":{"a":[1]},"taskgroups":[{"name":"g"}]})", draft)
      == "");
  CHECK(draft->getId() == "web");
  CHECK(draft->getPriority() == 7);
  CHECK(draft->getTaskGroups()[0].getName() == "g");
}

TEST_CASE("json_codec: null and absent are the default, empty is not null") {
  Draft<Job> draft;
  REQUIRE(decode(R"({"ID":null,"Meta":{},"Constraints":[],"Datacenters":null})", draft) == "");
  const auto text = to_json(*draft.freeze());
  CHECK(text.find(R"("ID":"")") != std::string::npos);
  CHECK(text.find(R"("Meta":{})") != std::string::npos);
  CHECK(text.find(R"("Constraints":[])") != std::string::npos);
  CHECK(text.find(R"("Datacenters":null)") != std::string::npos);
  CHECK(text.find(R"("Update":{"AutoPromote":false)") != std::string::npos);  // $always
}

TEST_CASE("json_codec: zero differs from null where the API says so") {
  CHECK(round_trip<DeploymentStatus>(R"({"Healthy":false})")
        == R"({"Canary":false,"Healthy":false,"ModifyIndex":0,"Timestamp":null})");
  CHECK(round_trip<DeploymentStatus>(R"({"Healthy":null})")
        == R"({"Canary":false,"Healthy":null,"ModifyIndex":0,"Timestamp":null})");
}

TEST_CASE("json_codec: an evaluation leaves out what is zero") {
  CHECK(round_trip<Evaluation>(R"({"ID":"e","Status":"pending","TriggeredBy":"job-register"})")
        == R"({"ID":"e","Status":"pending","TriggeredBy":"job-register"})");
}

TEST_CASE("json_codec: raw JSON, base64 and maps") {
  CHECK(round_trip<Task>(R"({"Config":{"args":["-x",1,true]}})")
            .find(R"("Config":{"args":["-x",1,true]})")
        != std::string::npos);
  CHECK(round_trip<Job>(R"({"Payload":"aGVsbG8="})").find(R"("Payload":"aGVsbG8=")")
        != std::string::npos);
  CHECK(round_trip<Job>(R"({"Meta":{"b":"2","a":"1"}})").find(R"("Meta":{"a":"1","b":"2"})")
        != std::string::npos);
  CHECK(round_trip<ServiceCheck>(R"({"Header":{"X":["1","2"]},"Interval":"10s"})")
            .find(R"("Header":{"X":["1","2"]},"InitialStatus":"","Interval":10000000000)")
        != std::string::npos);
}

TEST_CASE("json_codec: secrets are read and never shown") {
  Draft<Node> draft;
  REQUIRE(decode(R"({"SecretID":"hush"})", draft) == "");
  CHECK(draft->getSecretId() == "hush");
  CHECK(to_json(*draft.freeze()).find("hush") == std::string::npos);
}

TEST_CASE("json_codec: real numbers are written as the API does") {
  CHECK(round_trip<ScoreMeta>(R"({"NormScore":1,"Scores":{"binpack":0.25}})")
        == R"({"NodeID":"","NormScore":1.0,"Scores":{"binpack":0.25}})");
}

TEST_CASE("json_codec: what is wrong is named with its place") {
  CHECK(decode<Job>(R"({"TaskGroups":[{"Count":"two"}]})")
        == "json: cannot unmarshal string into Go struct field TaskGroup.TaskGroups.Count of type "
           "int");
  CHECK(decode<Job>(R"({"Meta":{"a":1}})")
        == "json: cannot unmarshal number into Go struct field Job.Meta of type string");
  CHECK(decode<Job>(R"({"Version":-1})")
        == "json: cannot unmarshal number -1 into Go struct field Job.Version of type uint64");
  CHECK(decode<Job>(R"({"Affinities":[{"Weight":128}]})")
        == "json: cannot unmarshal number 128 into Go struct field Affinity.Affinities.Weight of "
           "type int8");
  CHECK(decode<Job>(R"({"Affinities":[{"Weight":-128}]})") == "");
  CHECK(decode<Job>(R"({"Priority":1.5})")
        == "json: cannot unmarshal number 1.5 into Go struct field Job.Priority of type int");
  CHECK(decode<Job>(R"({"TaskGroups":[null]})") == "");
  CHECK(decode<Job>(R"([])").starts_with("json: cannot unmarshal array"));
  CHECK(decode<Allocation>(R"({"ClientStatus":"dancing"})")
        == "ClientStatus: unknown value \"dancing\"");
}

TEST_CASE("parse_json: malformed text and too deep text are refused with their place") {
  CHECK(nomad::parse_json("{\"a\":x}").error().what.starts_with("byte 5: "));
  CHECK(nomad::parse_json("").has_error());
  CHECK(nomad::parse_json("{} {}").error().what == "byte 3: unexpected text after the JSON value");
  CHECK(nomad::parse_json("{} \n").has_value());
  CHECK(nomad::parse_json(std::string(100, '[') + std::string(100, ']')).has_error());
}

TEST_CASE("json: some durations are shown as text, and taken as text or number") {
  const auto ttl = [](std::string_view value) {
    Draft<AclAuthMethod> draft;
    const auto problem = decode(R"({"MaxTokenTTL":)" + std::string{value} + "}", draft);
    if (!problem.empty()) return problem;
    const auto shown = boost::json::parse(to_json(*draft.freeze())).at("MaxTokenTTL").as_string();
    return std::string{shown.data(), shown.size()};
  };
  CHECK(ttl("\"90s\"") == "1m30s");
  CHECK(ttl("90000000000") == "1m30s");
  CHECK(ttl("\"\"").empty());
  CHECK(ttl("0").empty());
  CHECK(ttl("\"x\"") == "time: invalid duration \"x\"");
  CHECK(ttl("true").starts_with("json: cannot unmarshal"));

  Draft<AutopilotConfiguration> settings;  // Here none is shown as one of 0.
  CHECK(to_json(*settings.freeze()).find(R"("LastContactThreshold":"0s")") != std::string::npos);
}

TEST_CASE("json_pieces: a text is written alike, wherever something in it is to be escaped") {
  const std::string_view odd{"\"\\\n\x01\x1f\x7f\x80\xff \0", 10};
  for (std::size_t size = 0; size < 20; ++size)
    for (std::size_t at = 0; at < size; ++at)
      for (const char c : odd) {
        std::string text(size, 'x');
        text[at] = c;
        std::string slow;
        nomad::append_json_text(slow, text);
        std::string quick;
        nomad::JsonPieces pieces{quick};
        pieces.add_text(text);
        pieces.finish();
        REQUIRE(quick == slow);
      }
}

TEST_CASE("json_pieces: what does not fit into the rest goes on behind it") {
  std::string expected;
  std::string out;
  nomad::JsonPieces pieces{out};
  for (std::size_t i = 0; i < 500; ++i) {
    const std::string text(i * 7 % 300, 'y');
    pieces.text(",\"T\":", text).number(",\"N\":", i).boolean(",\"B\":", i % 2 == 0);
    expected += ",\"T\":\"" + text + "\",\"N\":" + std::to_string(i) + ",\"B\":";
    expected += i % 2 == 0 ? "true" : "false";
  }
  pieces.add(std::string(10'000, 'z'));
  pieces.finish();
  expected += std::string(10'000, 'z');

  CHECK((out == expected));
}
