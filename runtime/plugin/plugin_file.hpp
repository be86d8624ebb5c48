// The files of plugins: which files of `plugin_dir` are some, under which names, and whether this
// agent may start them, which is read from the file before any of its code runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::plugin {

struct PluginFile {
  std::string name;         ///< "stamp"
  std::string path;         ///< "/opt/nomad/plugins/stamp.so"
  bool is_library = false;  ///< Loaded by nomadctl-plugin-host; else a program of its own.
  std::string refusal{};    ///< Why it is not started; empty: it is.
  std::string older{};      ///< Another file of its name, which is passed over.
};

/// Names are of 1 to 64 of [a-z0-9_-] and begin with a letter.
bool is_plugin_name(std::string_view name);

/// The name of a file: "stamp" of "stamp.so", "libstamp.so" and of a program "stamp"; of a program
/// of an interpreter "stamp.py"; of a version "stamp.2.so", "stamp-1.2.so", "stamp_v1.2.so" or
/// "stamp.so.2". Empty: it is no plugin's.
std::string plugin_name(std::string_view file);

/// Whether a program is a plugin of Nomad's (go-plugin), which needs nomadctl-go-plugin to speak
/// with this agent: by its name ("nomad-driver-podman", "nomad-device-nvidia"), or for it has the
/// name of the variable in it that such programs look for. Reads the file.
bool is_nomad_plugin(const PluginFile& plugin);

/// The plugins of a directory, by their names. Files that are no libraries and can't be executed
/// are passed over, as are hidden ones and those that are put aside ("stamp.so.bak"); what can't be
/// a plugin for another reason is there with its refusal. Of files with one name it is, of those
/// that are not refused, the one of the greatest version by its name; between that and those whose
/// names say none the one that came last, by its time of change. The error says why the
/// directory can't be read.
Result<std::vector<PluginFile>> find_plugins(const std::string& directory);

/// Whether the library may be loaded by this agent's plugin host; the error says why not. `abi` is
/// what a plugin must have been built with; with `compiler` that must be the same, too. Pure.
Result<> check_mark(std::string_view elf, std::string_view abi, std::string_view compiler = {});

/// The same of a file, of which no more than its tables and its mark are read into memory.
Result<> check_library(const std::string& path, bool in_process = false);

}  // namespace nomad::plugin
