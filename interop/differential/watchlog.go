package main

// The watch stream of the random run: what each watcher got, without how it was cut into messages.

import (
	"context"
	"fmt"
	"sort"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"
)

const progressPause = 60 * time.Millisecond

type watchLog struct {
	stream *stream
	player *player // for masks
	events map[int64][]line
	live   map[int64]bool
}

func newWatchLog(s *side) (*watchLog, error) {
	m, err := lookup("Watch.Watch")
	if err != nil {
		return nil, err
	}
	st, err := s.open(context.Background(), m)
	if err != nil {
		return nil, err
	}
	return &watchLog{stream: st, player: newPlayer(s, &rules{used: map[string]bool{}}),
		events: map[int64][]line{}, live: map[int64]bool{}}, nil
}

func (w *watchLog) send(request *pb.WatchRequest) error {
	body, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	return w.stream.send(body)
}

// play sends a create or cancel and returns the control messages that answer it.
func (w *watchLog) play(p planned, _ *side) []line {
	if err := w.send(p.watch); err != nil {
		return []line{{"send: " + err.Error(), ""}}
	}
	id := p.watch.GetCancelRequest().GetWatchId() + p.watch.GetCreateRequest().GetWatchId()
	control := w.until(func(r *pb.WatchResponse) bool { return r.Created || r.Canceled })
	if p.watch.GetCreateRequest() == nil {
		return control
	}
	// A start that is compacted is told apart right after; caught up means it is not.
	cancelled := false
	more := w.caughtUp(p.revision, func(r *pb.WatchResponse) bool {
		cancelled = cancelled || r.WatchId == id && r.Canceled
		return cancelled
	})
	control = append(control, more...)
	if cancelled {
		// etcd keeps such a watcher until the client cancels it too.
		w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{
			CancelRequest: &pb.WatchCancelRequest{WatchId: id}}})
		control = append(control, w.until(func(r *pb.WatchResponse) bool { return r.Canceled })...)
	}
	return control
}

// settle waits until every watcher has seen everything up to a revision.
func (w *watchLog) settle(revision int64) []line {
	return w.caughtUp(revision, func(*pb.WatchResponse) bool { return false })
}

// caughtUp asks for progress until it is given, or until stop says so; without watchers it gives up
// at once. Control messages met on the way are returned.
func (w *watchLog) caughtUp(revision int64, stop func(*pb.WatchResponse) bool) []line {
	var control []line
	deadline := time.Now().Add(receiveTimeout)
	for len(w.live) > 0 {
		if time.Now().After(deadline) {
			return append(control, line{"never caught up", "Watch.Watch message"})
		}
		w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{
			ProgressRequest: &pb.WatchProgressRequest{}}})
		for {
			r, lines := w.next(progressPause)
			control = append(control, lines...)
			if r == nil {
				break
			}
			if isProgress(r) && r.Header.GetRevision() >= revision || stop(r) {
				return control
			}
		}
	}
	return control
}

func isProgress(r *pb.WatchResponse) bool {
	return r.WatchId == -1 && !r.Created && !r.Canceled && len(r.Events) == 0
}

// until reads to the message that wanted accepts, and returns the control messages.
func (w *watchLog) until(wanted func(*pb.WatchResponse) bool) []line {
	var control []line
	for {
		r, lines := w.next(receiveTimeout)
		control = append(control, lines...)
		if r == nil {
			return append(control, line{"nothing came", "Watch.Watch message"})
		}
		if wanted(r) {
			return control
		}
	}
}

// next takes one message: events go to the log of their watcher, control messages are returned.
func (w *watchLog) next(wait time.Duration) (*pb.WatchResponse, []line) {
	body := w.stream.next(wait)
	if body == nil {
		return nil, nil
	}
	var r pb.WatchResponse
	if err := proto.Unmarshal(body, &r); err != nil {
		return nil, []line{{"not a WatchResponse: " + err.Error(), ""}}
	}
	if r.Created {
		w.events[r.WatchId] = nil
		w.live[r.WatchId] = true
	}
	// A watcher that compaction cancelled stays until the client cancels it.
	if r.Canceled && r.CompactRevision == 0 {
		delete(w.live, r.WatchId)
	}
	w.player.out = nil
	if len(r.Events) == 0 {
		if isProgress(&r) {
			return &r, nil
		}
		w.player.message(w.stream.m, body, "")
		return &r, w.player.out
	}
	for _, event := range r.Events {
		encoded, _ := proto.Marshal(event)
		w.player.message(w.stream.m, wrap(11, encoded), "")
	}
	w.events[r.WatchId] = append(w.events[r.WatchId], w.player.out...)
	return &r, nil
}

// take returns and forgets all events so far, watcher by watcher.
func (w *watchLog) take() []line {
	var ids []int64
	for id := range w.events {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	var out []line
	for _, id := range ids {
		out = append(out, line{fmt.Sprintf("> watcher %d", id), ""})
		out = append(out, w.events[id]...)
		w.events[id] = nil
	}
	return out
}
