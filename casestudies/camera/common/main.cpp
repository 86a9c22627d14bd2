// A camera's frames on their way to the screen: one thread captures them, another shows them. The screen is left out;
// what is done with a frame is to measure its brightness, as a camera's exposure control does. `Capture` and `Frame`
// are what the variants differ in: before/ and after/.
#include "capture.hpp"
#include "cost.hpp"
#include "mailbox.hpp"
#include "memtoll.h"
#include "options.hpp"

#include <cstdint>
#include <cstdio>
#include <pthread.h>
#include <thread>

namespace {

// The sum of a pixel in each square of 16 x 16.
std::uint64_t measure_brightness(const std::byte* pixels, const Video& video) {
    std::uint64_t sum = 0;
    for (std::size_t row = 0; row < video.height; row += 16)
        for (std::size_t column = 0; column < video.width; column += 16)
            sum += std::to_integer<std::uint64_t>(pixels[row * video.width + column]);
    return sum;
}

void capture_frames(const Options& options, Capture& capture, Mailbox<Frame>& mailbox, ThreadTime& time) {
    using Clock = std::chrono::steady_clock;
    const std::chrono::duration<double> period(options.fps > 0 ? 1 / options.fps : 0);
    const auto start = Clock::now();
    for (long n = 0; n < options.frame_count(); ++n) {
        if (options.fps > 0)
            std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(n * period));
        memtoll_region_begin("capture");
        time.start();
        Frame frame = capture.next();
        time.stop();
        memtoll_region_end("capture");
        mailbox.send(std::move(frame));
    }
    mailbox.close();
}

// A frame stays on the screen until the next one replaces it.
std::uint64_t show_frames(const Video& video, Mailbox<Frame>& mailbox, ThreadTime& time) {
    std::uint64_t checksum = 0;
    std::optional<Frame> on_screen;
    while (std::optional<Frame> frame = mailbox.receive()) {
        memtoll_region_begin("show");
        time.start();
        checksum = checksum * 31 + measure_brightness(frame->pixels(), video);
        on_screen = std::move(frame);
        time.stop();
        memtoll_region_end("show");
    }
    return checksum;
}

} // namespace

int main(int argc, char** argv) {
    const Options options = parse_options(argc, argv);
    const Video& video = options.video;
    const auto frames = static_cast<double>(options.frame_count());
    memtoll_mark("start");
    Device device(video);
    Capture capture(device, video);
    Mailbox<Frame> mailbox;
    ThreadTime capturing, showing;

    const ProcessCost before = ProcessCost::now();
    std::thread source([&] {
        pthread_setname_np(pthread_self(), "camera");
        capture_frames(options, capture, mailbox, capturing);
    });
    const std::uint64_t checksum = show_frames(video, mailbox, showing);
    source.join();
    const ProcessCost after = ProcessCost::now();

    // What is the same in each run, then what is not.
    std::printf("%ld frames of %zu bytes, checksum %016llx\n", options.frame_count(), video.frame_bytes(),
                static_cast<unsigned long long>(checksum));
    const long faults = after.minor_faults - before.minor_faults;
    const double faults_a_frame = frames > 0 ? static_cast<double>(faults) / frames : 0;
    std::fprintf(stderr, "capture        %9.3f ms CPU\n", capturing.milliseconds());
    std::fprintf(stderr, "show           %9.3f ms CPU\n", showing.milliseconds());
    std::fprintf(stderr, "process        %9.3f ms CPU user, %.3f ms system\n", after.user_ms - before.user_ms,
                 after.system_ms - before.system_ms);
    std::fprintf(stderr, "minor faults   %9ld, %.1f a frame\n", faults, faults_a_frame);
    return 0;
}
