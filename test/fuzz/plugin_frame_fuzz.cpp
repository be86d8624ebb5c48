// What the process of a plugin sends: whatever the bytes and however they are cut, nothing but
// errors comes of it, and what was taken for a frame can be read, judged and sent on.
#include "actors/plugin/exec_relay.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/plugin/declared.hpp"
#include "runtime/plugin/found_devices.hpp"
#include "runtime/plugin/frames.hpp"
#include "runtime/plugin/plugin_file.hpp"
#include "runtime/plugin/said.hpp"
#include "runtime/scheduler/plan/plan_check.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/state/store.hpp"
#include "test/fuzz/input.hpp"
#include "test/support/sample_job.hpp"

using namespace nomad;

namespace {

/// What an event says is passed on as one line, whatever it was.
void shown(schema::plugin::Notice::Reader notice) {
  if (!notice.isEvent()) return;
  Draft<schema::plugin::Notice> draft{notice};
  plugin::clean_event(draft->getEvent(), 1);
  const auto message = view(draft.reader().getEvent().getMessage());
  fuzz::require(message.find('\n') == std::string_view::npos, "a message is one line");
}

/// A node "n" with a job "web" of a plugin's type, whose evaluation is "e".
const state::Snapshot& asked_state() {
  static const auto made = [] {
    state::Store store;
    auto apply = [&store, index = state::Index{1}](const auto& fill) mutable {
      Draft<schema::Command> draft;
      fill(*draft);
      static_cast<void>(store.apply(++index, *draft.freeze()));
      store.publish();
    };
    apply([](schema::Command::Builder command) {
      auto node = command.initNodeRegister().initNode();
      node.setId("n");
      node.setDatacenter("dc1");
      node.setNodePool("default");
      node.setStatus(schema::NodeStatus::READY);
      auto resources = node.initNodeResources();
      resources.initCpu().setCpuShares(2000);
      resources.initMemory().setMemoryMb(2000);
      resources.initDisk().setDiskMb(2000);
      auto attribute = node.initAttributes(1)[0];
      attribute.setKey("driver.mock_driver");
      attribute.setValue("1");
    });
    apply([](schema::Command::Builder command) {
      auto entry = command.initJobRegister();
      test::fill_job(entry.initJob(), {.count = 3});
      entry.getJob().setType("custom");
      auto eval = entry.initEvaluation();
      eval.setId("e");
      eval.setNamespace("default");
      eval.setType("custom");
      eval.setJobId("web");
      eval.setTriggeredBy(schema::EvalTrigger::JOB_REGISTER);
      eval.setStatus(schema::EvalStatus::PENDING);
    });
    return store.snapshot();
  }();
  return made;
}

/// Whatever is decided, it is refused, or a plan that fits.
void judged(schema::plugin::Decision::Reader decision) {
  const auto& state = asked_state();
  const auto scheduler = scheduler::make_scheduler(state.eval("e"));
  const auto step = scheduler->start({state, 1, nullptr});
  fuzz::require(step.question != nullptr, "the plugin is asked");
  const auto next = step.question->answer(Object<schema::plugin::Decision>::freeze(decision));
  if (next && next->plan)
    fuzz::require(scheduler::check_plan(*next->plan, state, "global").rejected_nodes.empty(),
                  "what is decided fits, or is left out");
}

/// What is said of command 1, of which nobody takes anything.
void carried(schema::plugin::Frame::Reader frame) {
  plugin::Questions questions{[](const plugin::Questions::Fill&) { return Result<>{}; }};
  plugin::ExecRelay relay{questions};
  const auto session = relay.open(1, false, [&relay](const auto& order) { relay.order(order); });
  std::size_t bytes = 0;
  int ends = 0;
  session->start({.output = [&bytes](auto, std::string_view part) { bytes += part.size(); },
                  .writable = [] {},
                  .exited = [&ends](const host::ExecResult&) { ++ends; }});
  for (int times = 0; times < 3; ++times)
    relay.take(frame);
  fuzz::require(bytes <= schema::plugin::StreamPart::WINDOW, "no more comes than is taken");
  fuzz::require(ends <= 1, "a command ends once");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  plugin::FrameSplitter splitter;
  // The first byte says how the rest is cut.
  const std::size_t step = size == 0 ? 1 : std::size_t{data[0]} + 1;
  bool goes_on = true;
  for (std::size_t at = 1; at < size && goes_on; at += step)
    goes_on = splitter
                  .add(bytes.substr(at, step),
                       [](const plugin::Frame& frame, std::size_t) {
                         std::string again;
                         if (plugin::append_frame(again, frame))
                           fuzz::require(!again.empty(), "a frame that was taken can be sent on");
                         if (frame->isDeclaration())
                           static_cast<void>(
                               plugin::check_declaration(frame->getDeclaration(), "fuzz"));
                         if (frame->isFacts()) {
                           static_cast<void>(plugin::read_facts(frame->getFacts().getAttributes()));
                           static_cast<void>(plugin::read_devices(frame->getFacts().getDevices()));
                         }
                         if (frame->isExecBytes() || frame->isExecTaken() || frame->isExecEnded())
                           carried(*frame);
                         if (frame->isDecision()) judged(frame->getDecision());
                         if (frame->isHookNotice()) shown(frame->getHookNotice().getNotice());
                         if (frame->isDriverNotice()) shown(frame->getDriverNotice());
                         static_cast<void>(frame->totalSize());
                       })
                  .has_value();
  static_cast<void>(plugin::check_mark(bytes, "abi", "compiler"));
  return 0;
}
