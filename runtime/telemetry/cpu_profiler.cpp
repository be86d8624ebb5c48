#include "runtime/telemetry/cpu_profiler.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <sched.h>

#include "runtime/base/clock.hpp"

namespace nomad::telemetry {

/// A stack as the handler noted it. `depth` is written last: 0 is not there yet.
struct StackNote {
  std::array<void*, CpuProfiler::most_frames> frames;
  std::atomic<int> depth{0};
};

namespace {

/// What the handler and its backtrace add at the top of each stack.
constexpr int own_frames = 2;

/// Where the handler writes; null: nowhere.
std::atomic<StackNote*> notes{nullptr};
std::atomic<std::size_t> noted{0};
std::atomic<int> in_handler{0};
std::atomic<bool> is_running{false};

/// Reserves a position and fills it: no locks, no memory. It says that it runs, then looks whether
/// there are notes; `stop` takes the notes away, then looks who runs. One of them has to see the
/// other, which only a single order of these four operations ensures.
void note_stack(int) {
  const int kept_errno = errno;
  in_handler.fetch_add(1, std::memory_order_seq_cst);
  if (auto* const all = notes.load(std::memory_order_seq_cst); all != nullptr) {
    const auto position = noted.fetch_add(1, std::memory_order_relaxed);
    if (position < CpuProfiler::most_samples) {
      auto& note = all[position];
      const int depth = ::backtrace(note.frames.data(), CpuProfiler::most_frames);
      note.depth.store(depth, std::memory_order_release);
    }
  }
  in_handler.fetch_sub(1, std::memory_order_release);
  errno = kept_errno;
}

void set_timer(Nanoseconds period) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(period).count();
  itimerval timer{};
  timer.it_interval = {.tv_sec = micros / 1'000'000, .tv_usec = micros % 1'000'000};
  timer.it_value = timer.it_interval;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

/// Behind the call that a return address names, pprof wants the call itself.
std::vector<std::uint64_t> stack_of(const StackNote& note, int depth) {
  std::vector<std::uint64_t> stack;
  for (int i = own_frames; i < depth; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(note.frames[static_cast<std::size_t>(i)]);
    stack.push_back(i == own_frames ? address : address - 1);
  }
  return stack;
}

}  // namespace

std::vector<ProfileMapping> code_mappings() {
  constexpr std::size_t most_mappings = 4'096;
  std::vector<ProfileMapping> mappings;
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; mappings.size() < most_mappings && std::getline(maps, line);) {
    ProfileMapping mapping;
    std::array<char, 5> rights{};
    int path = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &mapping.start, &mapping.limit,
                    rights.data(), &mapping.offset, &path)
            < 4
        || rights[2] != 'x')
      continue;
    if (static_cast<std::size_t>(path) < line.size()) mapping.file = line.substr(path);
    if (mapping.file.starts_with('/')) mappings.push_back(std::move(mapping));
  }
  return mappings;
}

struct CpuProfiler::Parts {
  std::vector<StackNote> kept = std::vector<StackNote>(most_samples);
  Nanoseconds period{0};
  std::int64_t began = unix_now();
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

CpuProfiler::CpuProfiler(std::unique_ptr<Parts> parts) : parts_{std::move(parts)} {}

CpuProfiler::CpuProfiler(CpuProfiler&&) noexcept = default;

CpuProfiler::~CpuProfiler() {
  if (parts_) stop();
}

Result<CpuProfiler> CpuProfiler::start(Nanoseconds period) {
  if (is_running.exchange(true))
    return Error{Errc::overloaded, "another profile of this agent is being made"};
  auto parts = std::make_unique<Parts>();
  parts->period = period;
  std::array<void*, 2> first{};
  ::backtrace(first.data(), first.size());  // loads what it needs, which a handler must not
  noted = 0;
  notes = parts->kept.data();

  struct sigaction action {};

  action.sa_handler = note_stack;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);
  set_timer(period);
  return CpuProfiler{std::move(parts)};
}

CpuProfile CpuProfiler::stop() {
  const auto parts = std::exchange(parts_, nullptr);
  set_timer(Nanoseconds{0});
  notes.store(nullptr, std::memory_order_seq_cst);
  while (in_handler.load(std::memory_order_seq_cst) > 0)  // some stack is being written
    ::sched_yield();
  CpuProfile profile{.samples = {},
                     .mappings = code_mappings(),
                     .began = parts->began,
                     .duration = std::chrono::steady_clock::now() - parts->since,
                     .period = parts->period};
  std::map<std::vector<std::uint64_t>, std::uint64_t> counts;
  for (const auto& note : parts->kept)
    if (const int depth = note.depth.load(std::memory_order_acquire); depth > own_frames)
      ++counts[stack_of(note, depth)];
  for (auto& [stack, count] : counts)
    profile.samples.push_back({stack, count});
  // The handler stays: a signal may still be on its way, and by itself would end the process.
  is_running = false;
  return profile;
}

namespace {

/// A file in memory; empty if it can't be read.
class MappedFile {
public:
  explicit MappedFile(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);

    struct stat facts {};

    if (file >= 0 && ::fstat(file, &facts) == 0 && facts.st_size > 0) {
      size_ = static_cast<std::size_t>(facts.st_size);
      bytes_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (bytes_ == MAP_FAILED) size_ = 0;
    }
    if (file >= 0) ::close(file);
  }

  MappedFile(const MappedFile&) = delete;

  ~MappedFile() {
    if (size_ > 0) ::munmap(bytes_, size_);
  }

  /// Some of `T` at a place; null if the file does not have them.
  template <class T>
  const T* at(std::uint64_t position, std::uint64_t count = 1) const {
    if (position > size_ || count > (size_ - position) / sizeof(T) || position % alignof(T) != 0)
      return nullptr;
    return reinterpret_cast<const T*>(static_cast<const char*>(bytes_) + position);
  }

private:
  void* bytes_ = nullptr;
  std::size_t size_ = 0;
};

/// Where the program itself was loaded.
std::uint64_t own_base() {
  std::uint64_t base = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<std::uint64_t*>(to) = info->dlpi_addr;
        return 1;  // the program is the first
      },
      &base);
  return base;
}

std::string readable(const char* name) {
  int status = 0;

  struct Free {
    void operator()(char* text) const { std::free(text); }
  };

  const std::unique_ptr<char, Free> text{abi::__cxa_demangle(name, nullptr, nullptr, &status)};
  return status == 0 ? std::string{text.get()} : std::string{name};
}

}  // namespace

FunctionNames::FunctionNames() {
  const MappedFile file{"/proc/self/exe"};
  const auto* header = file.at<Elf64_Ehdr>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  const auto* sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return;
  const auto base = own_base();
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto& table = sections[i];
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= header->e_shnum) continue;
    const auto count = table.sh_size / sizeof(Elf64_Sym);
    const auto* symbols = file.at<Elf64_Sym>(table.sh_offset, count);
    const auto& names = sections[table.sh_link];
    const auto* texts = file.at<char>(names.sh_offset, names.sh_size);
    if (symbols == nullptr || texts == nullptr) continue;
    for (std::uint64_t k = 0; k < count; ++k) {
      const auto& symbol = symbols[k];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0
          || symbol.st_name >= names.sh_size)
        continue;
      const auto* name = texts + symbol.st_name;
      const auto room = names.sh_size - symbol.st_name;
      symbols_.push_back(
          {base + symbol.st_value, symbol.st_size, std::string{name, ::strnlen(name, room)}});
    }
  }
  std::ranges::sort(symbols_, {}, &Symbol::start);
}

std::string FunctionNames::at(std::uint64_t address) const {
  auto next = std::ranges::upper_bound(symbols_, address, {}, &Symbol::start);
  if (next != symbols_.begin()) {
    const auto& symbol = *--next;
    if (address - symbol.start < symbol.size) return readable(symbol.name.c_str());
  }
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_sname == nullptr)
    return {};
  return readable(info.dli_sname);
}

}  // namespace nomad::telemetry
