// Package proc reads CPU time, memory and dropped datagrams from /proc.
package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Ticks of /proc in a second: what the kernel reports to user space, independent of its own tick.
const ticks = 100

// Tree returns a process and its descendants that live.
func Tree(pid int) []int {
	all := []int{pid}
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		for _, child := range strings.Fields(string(text)) {
			if id, err := strconv.Atoi(child); err == nil {
				all = append(all, Tree(id)...)
			}
		}
	}
	return all
}

// CPU returns the seconds that a process and its descendants have used, including descendants that ended.
func CPU(pid int) (seconds float64, err error) {
	for index, each := range Tree(pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", each))
		if err != nil {
			if index == 0 {
				return 0, err
			}
			continue
		}
		stat := string(text)
		fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
		// utime, stime, cutime and cstime.
		for _, field := range fields[11:15] {
			value, _ := strconv.ParseFloat(field, 64)
			seconds += value / ticks
		}
	}
	return seconds, nil
}

// Resident returns the resident memory of a process and its descendants in KiB.
func Resident(pid int) (kib int) {
	for _, each := range Tree(pid) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", each))
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
				value, _ := strconv.Atoi(fields[1])
				kib += value
			}
		}
	}
	return kib
}

// OwnCPU returns the seconds that this process has used.
func OwnCPU() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// Machine returns the busy and the stolen seconds of all cores since the start of the machine.
func Machine() (busy, stolen float64) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	values := make([]float64, 9)
	for index := 1; index < min(len(fields), len(values)); index++ {
		values[index], _ = strconv.ParseFloat(fields[index], 64)
	}
	// user, nice, system, irq and softirq.
	return (values[1] + values[2] + values[3] + values[6] + values[7]) / ticks, values[8] / ticks
}

// Drops returns the datagrams that the kernel dropped at the open sockets of this network namespace: of this process, and of all others.
func Drops() (own, others uint64) {
	mine := map[string]bool{}
	descriptors, _ := os.ReadDir("/proc/self/fd")
	for _, descriptor := range descriptors {
		if link, err := os.Readlink("/proc/self/fd/" + descriptor.Name()); err == nil {
			mine[strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]")] = true
		}
	}
	for _, name := range []string{"udp", "udp6"} {
		text, _ := os.ReadFile("/proc/net/" + name)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 13 || fields[0] == "sl" {
				continue
			}
			dropped, _ := strconv.ParseUint(fields[12], 10, 64)
			if mine[fields[9]] {
				own += dropped
			} else {
				others += dropped
			}
		}
	}
	return own, others
}

// Reading is the state of the machine, the server and this process at one moment.
type Reading struct {
	server, own, busy, stolen float64
	dropsOwn, dropsServer     uint64
}

// Read takes a reading; server is the process id of the server.
func Read(server int) Reading {
	reading := Reading{own: OwnCPU()}
	reading.server, _ = CPU(server)
	reading.busy, reading.stolen = Machine()
	reading.dropsOwn, reading.dropsServer = Drops()
	return reading
}

// Use is what was used between two readings, in cores, and the datagrams that were dropped.
type Use struct {
	Server, Generator, Other, Stolen float64
	DropsGenerator, DropsServer      uint64
}

// Since returns the use since an earlier reading that is this many seconds old.
func (later Reading) Since(earlier Reading, seconds float64) Use {
	use := Use{
		Server:         (later.server - earlier.server) / seconds,
		Generator:      (later.own - earlier.own) / seconds,
		Stolen:         (later.stolen - earlier.stolen) / seconds,
		DropsGenerator: later.dropsOwn - earlier.dropsOwn,
		DropsServer:    later.dropsServer - earlier.dropsServer,
	}
	use.Other = max(0, (later.busy-earlier.busy)/seconds-use.Server-use.Generator)
	return use
}

// Report adds the use to a result.
func (use Use) Report(result map[string]any) {
	result["server_cpu"], result["generator_cpu"] = use.Server, use.Generator
	result["other_cpu"], result["stolen_cpu"] = use.Other, use.Stolen
	result["server_per_generator"] = use.Server / use.Generator
	result["drops_server"], result["drops_generator"] = use.DropsServer, use.DropsGenerator
}
