package cordon

import "github.com/cordon-go/cordon/rule"

// Validate returns a function that says what is wrong with a document: why it cannot be read, or the faults of its rules, of all of them; nil if nothing is. That is for those who write documents, as nacos.Validate, since an
// error of a Decoder alone says nothing of single rules:
//
//	client.Publish(ctx, group, dataID, data, nacos.Validate(cordon.Validate(dataID, cordon.Native)))
//
// source names the document in the error, which is a rule.Problem or rule.Problems. It is stricter than Watch is to a document of which the good rules apply (Decoded.Partial), and does not know
// what only an engine does: whether extractors that rules on hot parameters name are there. What it returns is safe for concurrent use if dec is.
func Validate(source string, dec Decoder) func(data []byte) error {
	return func(data []byte) error {
		d, err := dec(source, data)
		if err != nil {
			return err
		}
		rep := rule.Report{Problems: d.Problems}
		p := offer{source: source, rep: &rep}
		p.takeAll(d.Rules, &ruleRefs{})
		return rep.Problems.Err()
	}
}
