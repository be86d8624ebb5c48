// TemplateHook ("template"): the files of a task that follow services and variables. It renders all
// templates before the task starts, and again when something that they ask for has changed; then
// it does to the task what they say: restart, signal, script or nothing. When that is, is decided
// by workload::TaskTemplates; rendering is a step of the step runner.
//
// A start waits until everything that templates ask for is there; what is missing is told as an
// event. A template that can't be rendered, and a script that was to fail its task, end the task as
// failed. A file whose text is as it was is not written and nothing follows, so a task that a new
// agent takes up goes on as it is.
//
// Owns:   the decisions, the locations and sources of the templates, the variables of those with
//         `env = true`, what it follows and the newest answers to it, the watches of files that are
//         read, a timer; the task's environment only where a template may read it.
// Takes:  what the role Hook lists. A Cancel ends the wait for the first rendering.
// Parent: task_runner, report: the next phase finds a new one, which renders everything anew.
// Ends:   by the parent's exit message.
#pragma once

#include <memory>
#include <string>

#include "actors/client/hooks/hook.hpp"
#include "actors/client/templates/data_watcher.hpp"
#include "actors/client/tools/blocking_pool.hpp"

namespace nomad::host {
class FileChanges;
}

namespace nomad::client {

struct TemplateHookParts {
  std::string region;                                ///< The node's.
  DataWatcher data;                                  ///< Follows what templates ask for.
  std::shared_ptr<const TemplateSettings> settings;  ///< Not null.
  std::shared_ptr<host::FileChanges> news;           ///< Of files that templates read.
  BlockingPool steps;
  UnixClock unix_now;
};

HookEntry template_hook(TemplateHookParts parts);

}  // namespace nomad::client
