import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import weka.classifiers.Classifier;
import weka.core.Attribute;
import weka.core.FastVector;
import weka.core.Instance;
import weka.core.Instances;
import weka.core.Utils;

/**
 * Trains classifiers of Weka 3.6 on rows of one table and lets each vote on all rows.
 *
 * Usage: Vote TABLE JOBS VOTES. TABLE is little-endian: two int32 (rows, features), then for each row its features as
 * float64 and its class, 0 or 1, as one more. A line of JOBS is a class name, its options and the numbers of the
 * training rows, with tabs between. VOTES gets a byte, 0 or 1, for each job and row.
 */
public final class Vote {
    public static void main(String[] args) throws Exception {
        Instances table = read(Path.of(args[0]));
        try (BufferedReader jobs = Files.newBufferedReader(Path.of(args[1]));
                OutputStream votes = new BufferedOutputStream(Files.newOutputStream(Path.of(args[2])))) {
            for (String line = jobs.readLine(); line != null; line = jobs.readLine()) {
                String[] job = line.split("\t");
                Classifier voter = Classifier.forName(job[0], Utils.splitOptions(job[1]));
                Instances training = new Instances(table, 0);
                for (String row : job[2].split(" ")) {
                    training.add(table.instance(Integer.parseInt(row)));
                }
                voter.buildClassifier(training);
                for (int row = 0; row < table.numInstances(); row++) {
                    votes.write((int) voter.classifyInstance(table.instance(row)));
                }
            }
        }
    }

    private static Instances read(Path path) throws Exception {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN);
        int rows = bytes.getInt();
        int features = bytes.getInt();
        FastVector columns = new FastVector();
        for (int feature = 0; feature < features; feature++) {
            columns.addElement(new Attribute("x" + feature));
        }
        FastVector classes = new FastVector();
        classes.addElement("0");
        classes.addElement("1");
        columns.addElement(new Attribute("class", classes));
        Instances table = new Instances("table", columns, rows);
        table.setClassIndex(features);
        for (int row = 0; row < rows; row++) {
            double[] values = new double[features + 1];
            for (int column = 0; column <= features; column++) {
                values[column] = bytes.getDouble();
            }
            table.add(new Instance(1.0, values));
        }
        return table;
    }
}
